// BackupOptions: the recipients or passphrase for a new backup, and the keys for reading one.
//   (1) A passphrase comes from the terminal or a descriptor. Private keys come from files.
//   (2) With recipients, encrypting a backup requires only their public keys.

import ArgumentParser
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine

/// The recipients or the passphrase of a new backup.
struct BackupRecipientOptions: ParsableArguments {
    @Option(
        name: [.customShort("r"), .long],
        help: ArgumentHelp(
            "Encrypts to this age public key, age1…. May be repeated. Without recipients, the "
                + "backup is encrypted with a passphrase.",
            valueName: "key"))
    var recipient: [String] = []

    @Option(
        help: ArgumentHelp(
            "Encrypts to the public keys in this file, one per line. Lines that begin with # are "
                + "comments.",
            valueName: "file"))
    var recipientsFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "Reads the passphrase from this file descriptor. One newline at its end is removed.",
            valueName: "number"))
    var passphraseFd: Int32?

    func validate() throws {
        guard passphraseFd == nil || recipient.isEmpty && recipientsFile.isEmpty else {
            throw ValidationError(
                "A backup can't be encrypted both to recipients and with a passphrase.")
        }
    }

    func recipients(mayAsk: Bool) throws(ControlFailure) -> [AgeRecipient] {
        var recipients: [AgeRecipient] = []
        for text in recipient {
            // The error must not show a private key.
            let isPrivate = text.uppercased().hasPrefix("AGE-SECRET-KEY-")
            let name = isPrivate ? "A private key" : "“\(printable(String(text.prefix(80))))”"
            recipients.append(try Self.parsed(text, name))
        }
        for path in recipientsFile {
            var bytes = try KeyFile.bytes(of: path)
            defer { bytes.erase() }
            let lines = KeyFile.lines(of: bytes)
            guard !lines.isEmpty else {
                throw ControlFailure(.failure, "\(printable(path)) contains no recipients.")
            }
            for line in lines {
                // The line may be a private key, so the error doesn't show the line.
                let text = String(decoding: line, as: UTF8.self)
                recipients.append(try Self.parsed(text, "A line of \(printable(path))"))
            }
        }
        guard recipients.isEmpty else { return recipients }
        return [.passphrase(try passphrase(mayAsk))]
    }

    /// The recipient that a text stands for. `name` is how an error names the text.
    private static func parsed(
        _ text: String, _ name: String
    ) throws(ControlFailure) -> AgeRecipient {
        guard let recipient = AgeRecipient(text: text) else {
            throw ControlFailure(
                .usage,
                "\(name) is not an age public key for X25519. `age-keygen` generates keys that "
                    + "begin with age1.")
        }
        return recipient
    }

    private func passphrase(_ mayAsk: Bool) throws(ControlFailure) -> SecretBytes {
        let passphrase: SecretBytes
        if let passphraseFd {
            passphrase = try SecretInput.fromDescriptor(passphraseFd, "passphrase")
        } else if mayAsk, let terminal = Terminal() {
            passphrase = try SecretInput.new("Backup passphrase", at: terminal)
        } else {
            throw ControlFailure(
                .failure,
                "Specify recipients with --recipient, or provide a passphrase with --passphrase-fd "
                    + "or at a terminal.")
        }
        guard passphrase.count > 0 else {
            throw ControlFailure(.failure, "The passphrase is empty. No backup was created.")
        }
        return passphrase
    }
}

/// The backup to read, and the keys that open it.
struct BackupIdentityOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Reads this backup, created by `keychainctl backup`.", valueName: "file")
    )
    var backup: String?

    @Option(
        name: [.customShort("i"), .long],
        help: ArgumentHelp(
            "With --backup: opens it with the age private keys in this file, as written by "
                + "`age-keygen`.",
            valueName: "file"))
    var identity: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --backup: reads its passphrase from this file descriptor. One newline at its end "
                + "is removed.",
            valueName: "number"))
    var passphraseFd: Int32?

    func validate() throws {
        guard backup != nil || identity.isEmpty && passphraseFd == nil else {
            throw ValidationError("--identity and --passphrase-fd require --backup.")
        }
    }

    /// Opens a backup, and calls `body` with it.
    func reading<Result>(
        _ path: String, mayAsk: Bool, _ body: (BackupSource) throws -> Result
    ) throws -> Result {
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK) else {
            let code = errno
            throw ControlFailure(
                code == ENOENT ? .notFound : code == EACCES ? .denied : .failure,
                "Can't read \(printable(path)): \(errorText(code)).")
        }
        guard Files.status(of: file)?.isPlainFile == true else {
            throw ControlFailure(
                .failure,
                "\(printable(path)) is not a regular file. Copy the backup to a file first.")
        }
        let identities = try identities(for: file, mayAsk: mayAsk)
        return try body(BackupSource(descriptor: file.number, identities: identities))
    }

    private func identities(
        for file: borrowing OwnedDescriptor, mayAsk: Bool
    ) throws -> [AgeIdentity] {
        ProcessProtection.beginHoldingSecrets()
        var identities: [AgeIdentity] = []
        for path in identity {
            var bytes = try KeyFile.bytes(of: path)
            defer { bytes.erase() }
            let lines = KeyFile.lines(of: bytes)
            guard !lines.isEmpty else {
                throw ControlFailure(.failure, "\(printable(path)) contains no private keys.")
            }
            for line in lines {
                guard let identity = AgeIdentity(text: Array(line)) else {
                    throw ControlFailure(
                        .failure,
                        "\(printable(path)) contains a line that is not an age private key for "
                            + "X25519. `age-keygen` generates keys that begin with "
                            + "AGE-SECRET-KEY-1.")
                }
                identities.append(identity)
            }
        }
        if let passphraseFd {
            let passphrase = try SecretInput.fromDescriptor(passphraseFd, "passphrase")
            identities.append(.passphrase(passphrase))
        }
        guard identities.isEmpty else { return identities }
        let isForPassphrase: Bool
        do {
            isForPassphrase = try AgeReader.isForPassphrase(file.number)
        } catch {
            throw KeychainFailure.noBackup(error)
        }
        guard isForPassphrase else {
            throw ControlFailure(
                .locked,
                "The backup is encrypted to recipients. Specify the private key with "
                    + "--identity.")
        }
        guard mayAsk, let terminal = Terminal(),
            let passphrase = terminal.askHidden("Backup passphrase: ")
        else {
            throw ControlFailure(
                .locked,
                "The backup is encrypted with a passphrase. Provide it with --passphrase-fd or at "
                    + "a terminal.")
        }
        return [.passphrase(passphrase)]
    }
}

/// A file with one key per line.
private enum KeyFile {
    private static let limit = 1 << 20

    /// Reads a key file. The caller must erase the bytes.
    static func bytes(of path: String) throws(ControlFailure) -> [UInt8] {
        guard let file = Files.open(path, O_RDONLY),
            let content = try? SecretBytes(readingFrom: file.number, atMost: limit)
        else {
            throw ControlFailure(.failure, "Can't read \(printable(path)): \(errorText(errno)).")
        }
        return content.plainBytes
    }

    /// The lines that are neither empty nor comments.
    static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return line.isEmpty || line.first == UInt8(ascii: "#") ? nil : line
        }
    }
}
