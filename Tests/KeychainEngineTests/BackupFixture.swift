// BackupFixture: keychains and backups for a test.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization
import Testing

/// A clock that only the test advances.
final class TestClock: Sendable {
    private let moment = Mutex(1000.0)
    var now: Double { moment.withLock { $0 } }
    func advance() { moment.withLock { $0 += 1 } }
}

/// A backup in a temporary file.
final class TestBackup {
    let path = NSTemporaryDirectory() + "backup-test-" + UUID().uuidString
    private let handle: FileHandle
    let identity: AgeIdentity

    init() throws {
        try Data().write(to: URL(filePath: path))
        handle = try #require(FileHandle(forUpdatingAtPath: path))
        identity = .x25519(.random(byteCount: 32))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var source: BackupSource {
        BackupSource(descriptor: handle.fileDescriptor, identities: [identity])
    }

    @discardableResult
    func make(_ engine: KeychainEngine) throws -> BackupSummary {
        try handle.truncate(atOffset: 0)
        try handle.seek(toOffset: 0)
        return try engine.backUp(
            to: AgeWriter([try #require(identity.recipient)], to: handle.fileDescriptor))
    }

    /// Replaces the backup by one with these lines, as anyone who knows the recipient can.
    func write(_ lines: [String]) throws {
        try handle.truncate(atOffset: 0)
        try handle.seek(toOffset: 0)
        let writer = try AgeWriter(
            [try #require(identity.recipient)], to: handle.fileDescriptor)
        try writer.write(Array(lines.map { $0 + "\n" }.joined().utf8))
        try writer.finish()
    }

    var lines: [String] {
        get throws {
            try handle.seek(toOffset: 0)
            let reader = try AgeReader(handle.fileDescriptor, [identity])
            var content = Data()
            while let chunk = try reader.next() { content += chunk }
            return String(decoding: content, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    var bytes: Data {
        get { FileManager.default.contents(atPath: path) ?? Data() }
        set {
            try? handle.truncate(atOffset: 0)
            try? handle.seek(toOffset: 0)
            try? handle.write(contentsOf: newValue)
        }
    }
}

struct BackupFixture {
    let clock = TestClock()

    func options(
        _ identity: String? = "here", chip: (any KeyHardware)? = nil
    ) -> EngineOptions {
        var options = EngineOptions.testing
        options.machine = Machine(identity: identity.map { passcode($0) }, chip: chip)
        options.now = { [clock] in clock.now }
        return options
    }

    func keychain(
        _ identity: String? = "here", chip: (any KeyHardware)? = nil
    ) throws -> TemporaryKeychain {
        try TemporaryKeychain(options: options(identity, chip: chip))
    }

    @discardableResult
    func add(
        _ account: String, _ data: String = "secret", _ protection: ProtectionClass = .whenUnlocked,
        group: String? = nil, isSynchronizable: Bool = false,
        constraints: AccessConstraints = [], password: String? = nil,
        to keychain: TemporaryKeychain
    ) throws -> ItemReference {
        var authorization = Authorization()
        authorization.applicationPassword = password.map { Data($0.utf8) }
        return try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    accessGroup: group, protection: protection, constraints: constraints,
                    isSynchronizable: isSynchronizable, data: Data(data.utf8),
                    authorization: authorization)), as: everything
        ).reference
    }

    let everything = AccessGroups(["G1", "G2", AccessGroups.wildcard])

    func change(_ account: String, _ data: String, in keychain: TemporaryKeychain) throws {
        clock.advance()
        _ = try keychain.engine.perform(
            UpdateItems(query(account), ItemChanges(data: Data(data.utf8))), as: everything)
    }

    func delete(_ account: String, in keychain: TemporaryKeychain) throws {
        clock.advance()
        _ = try keychain.engine.perform(
            DeleteItems(query(account), tombstones: .automatic), as: everything)
    }

    func query(_ account: String? = nil, password: String? = nil) -> ItemQuery {
        var query = ItemQuery(
            itemClass: .genericPassword,
            attributes: account.map { genericPassword($0) } ?? [:], isSynchronizable: nil)
        query.authorization.applicationPassword = password.map { Data($0.utf8) }
        return query
    }

    func items(_ keychain: TemporaryKeychain, password: String? = nil) throws
        -> [ItemSnapshot]
    {
        do {
            return try keychain.engine.perform(
                FindItems(
                    query(password: password), Retrieval(limit: nil, includesData: true)),
                as: everything)
        } catch  where error.status == .itemNotFound {
            return []
        }
    }

    /// The secrets by account.
    func secrets(_ keychain: TemporaryKeychain) throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try items(keychain).map { item in
                guard case .string(let account) = item.attributes[.account] else { return ("", "") }
                return (account, String(decoding: item.data ?? Data(), as: UTF8.self))
            })
    }

    func accounts(_ names: [BackupName]) -> Set<String> {
        Set(
            names.compactMap {
                guard case .string(let account) = $0.item?.attributes[.account] else { return nil }
                return account
            })
    }
}
