// BackupCommand: writes every item to one encrypted file.

import ArgumentParser
import KeychainCore
import KeychainCrypto
import KeychainEngine

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Writes every item to one encrypted file.",
        discussion: """
            The file is in the format of age, so `age` opens it too. It is for recipients, whose \
            public keys are named, or under a passphrase. Who opens it has every secret in it. \
            Items of this device only come back on this machine alone. Items that are there while a \
            passcode is set, and keys in hardware, are left out and listed. \
            `keychainctl restore --backup` brings the items back, `keychainctl check --backup` \
            looks whether a file is whole.
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"))
    var path: String

    @Flag(help: "Replaces a file of this name, once the new one is whole.")
    var overwrite = false

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var recipients: BackupRecipientOptions

    @OptionGroup var passcode: PasscodeOptions

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
                "Damaged items are missing from the backup. `keychainctl check` names them.")
        }
    }

    private static func failure(for failure: AgeFailure) -> ControlFailure {
        switch failure {
        case .header: ControlFailure(.usage, "A recipient's key is none that can be encrypted to.")
        case .derivation:
            ControlFailure(.failure, "There is too little memory for the passphrase.")
        default: ControlFailure(.failure, "The backup could not be written. Make room for it.")
        }
    }
}

extension FileSession {
    /// Unlocks the keychain if it is locked. A credential may have unlocked it already.
    func unlockIfLocked() throws {
        if engine.lockState != .unlocked { _ = try session.unlock() }
    }
}
