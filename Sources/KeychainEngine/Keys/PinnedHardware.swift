// PinnedHardware: restricts a keychain to the chip that it was first used with.
// Documentation/Formats/storage-key-v1.md.
//   (1) Before the first use of a chip that has an identity, the identity is written to the file
//       `storage-key` in the keychain's folder. From then on only a chip with that identity is
//       used. If the file can't be written, this process remembers the identity.
//   (2) Only a user can make the keychain accept another chip, by binding the keychain to another
//       machine with its recovery code, or by removing the file.
//   (3) A file that can't be read is an error and not treated as missing.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import Synchronization

final class PinnedHardware: KeyHardware {
    static let fileName = "storage-key"

    private let hardware: any KeyHardware
    private let path: String
    private let bound = Mutex<(any KeyHardware)?>(nil)

    /// `folder` is the keychain's folder.
    init(_ hardware: any KeyHardware, in folder: String) {
        self.hardware = hardware
        path = folder + "/" + Self.fileName
    }

    var name: String { hardware.name }

    var isPresent: Bool { hardware.isPresent }

    func identity() throws(KeychainFailure) -> [Data] { try hardware.identity() }

    func bound(to identity: [Data]) -> any KeyHardware { hardware.bound(to: identity) }

    // MARK: The pinned chip

    private func current() throws(KeychainFailure) -> any KeyHardware {
        try bound.withLock { bound throws(KeychainFailure) in
            if let bound { return bound }
            let identity: [Data]
            if let known = try read() {
                identity = known
            } else {
                identity = try hardware.identity()
                write(identity)
            }
            let new = identity.isEmpty ? hardware : hardware.bound(to: identity)
            bound = new
            return new
        }
    }

    /// Runs `body` with whichever chip is present and pins that chip, unless `body` fails or the
    /// chip has no identity.
    func accepting<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let identity = try hardware.identity()
        guard !identity.isEmpty else { return try body() }
        let before = bound.withLock { bound in
            defer { bound = hardware.bound(to: identity) }
            return bound
        }
        do {
            let result = try body()
            write(identity)
            return result
        } catch {
            bound.withLock { $0 = before }
            throw error
        }
    }

    /// `nil` if there is no file.
    private func read() throws(KeychainFailure) -> [Data]? {
        guard Files.isThere(path) else { return nil }
        guard let file = Files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let content = Files.content(of: file, atMost: StorageKeyFile.maximumByteCount),
            let identity = StorageKeyFile.decode(Array(content))
        else {
            throw KeychainFailure(
                .notAvailable,
                "\(path), which identifies the keychain's TPM, can't be read or is damaged. "
                    + "Restore it from a backup, or remove it to accept the TPM that is present "
                    + "now.",
                cause: .damage)
        }
        return identity
    }

    /// Writes the file, if possible. Another process may write the same content at the same time.
    private func write(_ identity: [Data]) {
        guard !identity.isEmpty else { return }
        let new = "\(path).\(UInt64.random(in: 0 ... .max))"
        guard let file = Files.open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        else { return }
        defer { file.close() }
        let isWritten =
            Descriptor.write(StorageKeyFile.encode(identity), to: file.number)
            && fsync(file.number) == 0 && Files.rename(new, path)
        if !isWritten { Files.remove(new) }
    }

    /// Runs `body` with the pinned chip. If another chip is present, adds to the error what the
    /// user can do.
    private func use<Result>(
        _ body: (any KeyHardware) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let hardware = try current()
        do {
            return try body(hardware)
        } catch {
            guard error.cause == .otherMachine else { throw error }
            throw KeychainFailure(
                error.status,
                "\(error.reason) If you know why the TPM is a different one, remove \(path) and "
                    + "restart the program. It then accepts the TPM that is present. Keys created "
                    + "by the earlier TPM can't be used with it.",
                cause: .otherMachine)
        }
    }

    // MARK: Uses

    func makeKey(authorization: SecretBytes) throws(KeychainFailure) -> HardwareKey {
        try use { hardware throws(KeychainFailure) in
            try hardware.makeKey(authorization: authorization)
        }
    }

    func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data {
        try use { hardware throws(KeychainFailure) in
            try hardware.sign(digest: digest, with: wrapped, authorization: authorization)
        }
    }

    func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes {
        try use { hardware throws(KeychainFailure) in
            try hardware.sharedSecret(
                of: wrapped, with: publicKey, authorization: authorization)
        }
    }

    func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data {
        try use { hardware throws(KeychainFailure) in try hardware.seal(secret) }
    }

    func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes {
        try use { hardware throws(KeychainFailure) in try hardware.unseal(sealed) }
    }
}

// MARK: - The file

enum StorageKeyFile {
    private static let start = Array("KCSK".utf8) + [1, 1]
    private static let names = 1...2
    private static let nameByteCounts = 1...66
    /// Magic, version, kind and count, two names with their sizes, SHA-256.
    static let maximumByteCount = 8 + 2 * 68 + 32

    static func encode(_ identity: [Data]) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(start)
        writer.number(UInt16(identity.count))
        for name in identity {
            writer.number(UInt16(name.count))
            writer.bytes(name)
        }
        return writer.result + SecretBytes(copying: writer.result).sha256
    }

    /// `nil` if the file is damaged or has a later version.
    static func decode(_ file: [UInt8]) -> [Data]? {
        guard file.count > 32,
            SecretBytes(copying: file.dropLast(32)).sha256 == Array(file.suffix(32))
        else { return nil }
        var reader = ByteReader(Array(file.dropLast(32)))
        guard reader.bytes(start.count) == start, let count: UInt16 = reader.number(),
            names.contains(Int(count))
        else { return nil }
        var identity: [Data] = []
        for _ in 0..<count {
            guard let size: UInt16 = reader.number(), nameByteCounts.contains(Int(size)),
                let name = reader.bytes(Int(size))
            else { return nil }
            identity.append(Data(name))
        }
        return reader.isAtEnd ? identity : nil
    }
}

// MARK: - Options

extension EngineOptions {
    /// A copy of the options in which the chip is pinned for the keychain in a folder.
    func pinned(in folder: String) -> EngineOptions {
        guard let chip = hardware ?? machine.chip, !(chip is PinnedHardware) else { return self }
        var options = self
        let pinned = PinnedHardware(chip, in: folder)
        if options.hardware != nil { options.hardware = pinned }
        if options.machine.chip != nil { options.machine.chip = pinned }
        return options
    }

    /// See ``PinnedHardware/accepting(_:)``.
    func acceptingOtherChip<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        guard let chip = machine.chip as? PinnedHardware, chip.isPresent else { return try body() }
        return try chip.accepting(body)
    }
}
