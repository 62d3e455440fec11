// LoadRows: finding one secret by its name and decrypting it.

import BenchmarkFigures
import Foundation
import Keychain
import KeychainServices

struct WrongAnswer: Error, CustomStringConvertible {
    let description: String
}

enum LoadRows {
    private static let contest = Contest(rounds: 41, repetitions: 500)

    static func measure(_ level: Level) throws -> [Row] {
        Program.note("Measuring loads")
        let indices = Sample.choice(of: level.itemCount, from: level.itemCount)
        let keychain = Keychain(service: Sample.service(of: 0))
        let keys = indices.map { KeychainKey<Data>(Sample.account(of: $0)) }
        let accounts = indices.map { Sample.account(of: $0) }
        let names = indices.map { Sample.key(of: $0) }
        let queries = accounts.map { account in
            var query = query(keychain.service)
            query[kSecAttrAccount] = account
            return query as CFDictionary
        }
        let figures = try contest.run([
            { _ = try level.floor.load(names[$0 % names.count]) },
            { try load(keychain, keys[$0 % keys.count]) },
            { try copyMatching(keychain.service, accounts[$0 % accounts.count]) },
            { try copyMatching(queries[$0 % queries.count]) },
        ])
        return [
            Row(
                "load by key, Keychain", figures[1], .time,
                [
                    .times(figures[1], of: figures[0], "floor: SQLite and AES", .load),
                    .faster(figures[1], than: ReferenceTime.load, .loadReference),
                ]),
            Row(
                "load by SecItemCopyMatching", figures[2], .time,
                [.times(figures[2], of: figures[0], "floor: SQLite and AES", .copyMatching)]),
            Row(
                "  without the caller's casts", figures[3], .time,
                [.times(figures[3], of: figures[0], "floor: SQLite and AES", .copyMatchingAlone)]),
        ]
    }

    static func load(_ keychain: Keychain, _ key: KeychainKey<Data>) throws {
        guard try keychain.load(key)?.count == Sample.secretByteCount else {
            throw WrongAnswer(description: "A load didn't give a secret of the expected size.")
        }
    }

    private static func query(_ service: String) -> [CFString: Any] {
        [
            kSecClass: kSecClassGenericPassword,
            kSecAttrService: service,
            kSecReturnData: true,
        ]
    }

    /// Calls `SecItemCopyMatching` as applications do: with a new dictionary, and the result cast
    /// to `Data`. Without an account, it finds any item of the service.
    static func copyMatching(_ service: String, _ account: String? = nil) throws {
        var query = query(service)
        query[kSecAttrAccount] = account
        var result: CFTypeRef?
        // SAFETY: the pointer is used within the call only.
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
        guard status == errSecSuccess, (result as? Data)?.count == Sample.secretByteCount else {
            throw WrongAnswer(description: "SecItemCopyMatching gave \(status).")
        }
    }

    /// Calls `SecItemCopyMatching` with an existing dictionary, and doesn't cast the result.
    private static func copyMatching(_ query: CFDictionary) throws {
        var result: CFTypeRef?
        // SAFETY: the pointer is used within the call only.
        let status = unsafe SecItemCopyMatching(query, &result)
        guard status == errSecSuccess, result is NSData else {
            throw WrongAnswer(description: "SecItemCopyMatching gave \(status).")
        }
    }
}
