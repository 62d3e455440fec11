// BackupReading: reads and checks all lines of a backup.
//   (1) The lines have a fixed order: the head, the entries, and the end, which states the numbers
//       of entries. The machine's line precedes the *this device only* items. Nothing follows the
//       end.
//   (2) A line that is malformed or unknown to this version makes the reading fail.
//   (3) Of a *this device only* item, only the name can be read without the machine's key.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto
import KeychainSQLite
import Synchronization

/// A backup file and the identities to open it with. The file can be read repeatedly.
package final class BackupSource: Sendable {
    /// The descriptor of a file that is open for reading.
    package let descriptor: Int32
    private let identities: Mutex<[AgeIdentity]>

    package init(descriptor: Int32, identities: [AgeIdentity]) {
        self.descriptor = descriptor
        self.identities = Mutex(identities)
    }
}

/// One entry of a backup.
enum BackupEntry {
    case item(RestoredItem)
    case leftOut(BackupName)
}

extension BackupSource {
    private static let lineLimit = 256 << 20

    /// Reads the whole file and passes the entries to `visit` in order.
    /// - Returns: The head, the end, and the SHA-256 of the decrypted content.
    func read(
        on machine: Machine, _ visit: (BackupEntry) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) -> (head: BackupHead, end: BackupEnd, digest: [UInt8]) {
        guard let reader = try opened() else { throw .noBackup(.header) }
        var parser = BackupParser(machine: machine)
        var line = Data()
        var digest = RunningDigest()
        defer { line.resetBytes(in: line.startIndex..<line.endIndex) }
        while var chunk = try next(of: reader) {
            defer { chunk.resetBytes(in: chunk.startIndex..<chunk.endIndex) }
            digest.add(chunk)
            var rest = chunk[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                line += rest[..<end]
                try parser.take(line, visit)
                line.resetBytes(in: line.startIndex..<line.endIndex)
                line.removeAll(keepingCapacity: true)
                rest = rest[(end + 1)...]
            }
            line += rest
            guard line.count <= Self.lineLimit else { throw .malformedBackup }
        }
        guard line.isEmpty, let head = parser.head, let end = parser.end else {
            throw .malformedBackup
        }
        return (head, end, digest.result)
    }

    private func opened() throws(KeychainFailure) -> AgeReader? {
        guard Files.seekToStart(descriptor) else { return nil }
        do {
            let reader = try AgeReader(descriptor, identities.withLock { $0 })
            identities.withLock { $0 = [reader.identity] }
            return reader
        } catch {
            throw .noBackup(error)
        }
    }

    private func next(of reader: AgeReader) throws(KeychainFailure) -> Data? {
        do {
            return try reader.next()
        } catch {
            throw .noBackup(error)
        }
    }
}

private struct BackupParser {
    let machine: Machine
    private(set) var head: BackupHead?
    private(set) var end: BackupEnd?
    private var machineKey: SecretBytes?
    private var hasMachine = false
    private var count = BackupEnd()

    init(machine: Machine) {
        self.machine = machine
    }

    mutating func take(
        _ bytes: Data, _ visit: (BackupEntry) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        guard end == nil, let line = try? JSONDecoder().decode(BackupLine.self, from: bytes),
            line.memberCount == 1
        else { throw .malformedBackup }
        if let head = line.head {
            guard self.head == nil, head.format == BackupHead.format else { throw .malformedBackup }
            guard head.version == 1 else {
                throw KeychainFailure(
                    .wrongVersion, "The backup has a newer format version. Nothing was changed.")
            }
            self.head = head
            return
        }
        guard head != nil else { throw .malformedBackup }
        if let place = line.machine {
            guard !hasMachine else { throw .malformedBackup }
            hasMachine = true
            machineKey = place.key(on: machine)
        } else if let item = line.item {
            guard let restored = item.restored, restored.isStorable,
                !restored.protection.isThisDeviceOnly
            else { throw .malformedBackup }
            count.items += 1
            try visit(.item(restored))
        } else if let item = line.deviceItem {
            count.deviceItems += 1
            try visit(try entry(item))
        } else if let leftOut = line.leftOut {
            count.leftOut += 1
            try visit(.leftOut(try name(leftOut)))
        } else if let end = line.end {
            guard end == count else { throw .malformedBackup }
            self.end = end
        } else {
            throw .malformedBackup
        }
    }

    private func entry(_ item: BackupDeviceItem) throws(KeychainFailure) -> BackupEntry {
        guard let name = item.name.restored, hasMachine else { throw .malformedBackup }
        let binding = BackupDeviceItem.binding(item.name.reference)
        guard let machineKey,
            var plaintext = BackupMachine.open(item.sealed, as: binding, using: machineKey)
        else { return .leftOut(name.name(.otherMachine)) }
        defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
        guard let line = try? JSONDecoder().decode(BackupLine.self, from: plaintext),
            let whole = line.item?.restored, whole.isStorable, whole.protection.isThisDeviceOnly,
            whole.protection != .whenPasscodeSetThisDeviceOnly,
            whole.reference == name.reference
        else { throw .malformedBackup }
        return .item(whole)
    }

    private func name(_ leftOut: BackupLeftOut) throws(KeychainFailure) -> BackupName {
        guard let name = leftOut.name else {
            guard let reference = ItemReference(hexadecimal: leftOut.reference) else {
                throw .malformedBackup
            }
            return BackupName(item: nil, reference: reference, omission: leftOut.reason)
        }
        guard let restored = name.restored else { throw .malformedBackup }
        return restored.name(leftOut.reason)
    }
}

extension KeychainFailure {
    static let malformedBackup = KeychainFailure(
        .decode,
        "The file can be decrypted, but it is not a backup that this version can read. Nothing was "
            + "changed.",
        cause: .damage)

    /// The error for a file that can't be opened or read as a backup.
    package static func noBackup(_ failure: AgeFailure) -> KeychainFailure {
        switch failure {
        case .header:
            KeychainFailure(
                .decode,
                "The file is not an age file that this program can open. Nothing was changed.",
                cause: .damage)
        case .noMatch:
            KeychainFailure(
                .authFailed,
                "The passphrase or identity doesn't open the backup. Nothing was changed.")
        case .code, .payload:
            KeychainFailure(
                .decode,
                "The backup was modified or truncated after it was written. Nothing was changed. "
                    + "Use another copy.", cause: .damage)
        case .read:
            KeychainFailure(.notAvailable, "The backup can't be read. Nothing was changed.")
        case .derivation:
            KeychainFailure(
                .allocate,
                "There is too little memory to derive a key from the passphrase. Nothing was "
                    + "changed.")
        }
    }
}
