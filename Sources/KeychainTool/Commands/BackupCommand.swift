// BackupCommand: writes the keychain's items to one encrypted file. `BackupOmission` has the
// reasons for which items are left out.

import ArgumentParser
import KeychainCore
import KeychainCrypto
import KeychainEngine

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes the keychain's items to one encrypted file.",
        discussion: """
            The file has the format of age, so `age` can open it too. It is encrypted to \
            recipients, given by their public keys, or with a passphrase. Anyone who can open it \
            has every secret in it, except those under an application password and those of items \
            of this device only. The latter can be restored only on this machine. Some items are \
            left out and listed, such as those that exist only while a passcode is set, and keys \
            in hardware. Damaged items are left out too, and the exit status is then 6; if other \
            parts of the keychain are damaged, no file is created. `keychainctl restore --backup` \
            restores the items; `keychainctl check --backup` checks whether a file is intact.
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"))
    var path: String

    @Flag(help: "Replaces an existing file once the new one is complete.")
    var overwrite = false

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var recipients: BackupRecipientOptions

    @OptionGroup var passcode: PasscodeOptions

    func validate() throws {
        try InputOption.requireDistinct([
            InputOption("--passphrase-fd", recipients.passphraseFd),
            InputOption("--passcode-fd", passcode.passcodeFd),
        ])
    }

    func run() throws {
        guard let files = try FileSession(existing: passcode.source) else {
            throw ControlFailure(
                .notFound, "There is no keychain yet, so there is nothing to back up.")
        }
        defer { files.close() }
        let file = try BackupFile(path, replaces: overwrite)
        let summary: BackupSummary
        do {
            let recipients = try recipients.recipients(mayAsk: !passcode.noPrompt)
            try files.unlockIfLocked()
            let writer: AgeWriter
            do {
                writer = try AgeWriter(recipients, to: file.descriptor)
            } catch {
                throw Self.failure(for: error)
            }
            let line = ProgressLine()
            defer { line.end() }
            summary = try files.engine.backUp(to: writer) { progress in
                line.show("backed up \(progress.done) of \(counted(progress.total, "item"))")
            }
            try file.commit()
        } catch {
            file.discard()
            throw error
        }
        try Output.print(
            json
                ? JSON.object(BackupText.json(of: summary)).text
                : BackupText.text(of: summary))
        guard !summary.leftOut.contains(where: { $0.omission == .damaged }) else {
            throw ControlFailure(
                .damaged,
                "Damaged items are missing from the backup. `keychainctl check` lists them.")
        }
    }

    private static func failure(for failure: AgeFailure) -> ControlFailure {
        switch failure {
        case .header:
            ControlFailure(
                .usage,
                "A recipient's public key can't be used for "
                    + "encryption.")
        case .derivation:
            ControlFailure(
                .failure, "There is not enough memory to derive a key from the passphrase.")
        default:
            ControlFailure(
                .failure,
                "The backup could not be written. Make sure that there "
                    + "is enough space.")
        }
    }
}

extension FileSession {
    /// Unlocks the keychain with the passcode if it is locked. A credential may have unlocked it
    /// already. If the passcode can't be obtained, the keychain stays locked.
    ///
    /// - Throws: `authFailed` if the passcode is wrong; ``ControlFailure/lockedWithoutPasscode`` if
    ///   the keychain is locked although no passcode is set.
    func unlockIfLocked() throws {
        if engine.lockState != .unlocked { _ = try session.unlock() }
    }
}
