// The option `keepingVersions`, with which a keychain keeps replaced and deleted items as versions.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import KeychainEngine
import KeychainTesting
import Testing

@testable import Keychain

@Suite struct KeptVersionTests {
    private let test = TestKeychain()

    /// The secrets of the kept versions, by account.
    private var kept: [String: [String]] {
        get throws {
            do throws(KeychainFailure) {
                let found = try test.engine.perform(
                    FindVersions(ItemQuery(itemClass: .genericPassword), includesData: true),
                    as: AccessGroups([AccessGroups.wildcard]))
                return Dictionary(grouping: found) { version in
                    guard case .string(let account) = version.item.attributes[.account] else {
                        return ""
                    }
                    return account
                }.mapValues {
                    $0.map { String(decoding: $0.item.data ?? Data(), as: UTF8.self) }
                }
            } catch {
                guard error.status == .itemNotFound else { throw error }
                return [:]
            }
        }
    }

    private static let a = KeychainKey<String>("a")
    private static let b = KeychainKey<String>("b")

    @Test func `only a keychain with keepingVersions keeps replaced and deleted items`() throws {
        let keychain = Keychain(service: "s", in: test.database)
        for value in ["1", "2"] { try keychain.save(value, for: Self.a) }
        try keychain.delete(Self.a)
        #expect(try kept == [:])
        let keeping = keychain.keepingVersions()
        for value in ["3", "4"] { try keeping.save(value, for: Self.a) }
        try keeping.save("5", for: Self.b)
        try keeping.delete(Self.a)
        #expect(try keeping.removeAll() == 1)
        #expect(try kept == ["a": ["4", "3"], "b": ["5"]])
        #expect(try keychain.load(Self.a) == nil)
    }

    @Test func `keepingVersions stays in effect when another option is added`() throws {
        let keychain = Keychain(service: "s", in: test.database)
        let both = keychain.keepingVersions().authenticating(reason: "test")
        for value in ["1", "2"] { try both.save(value, for: Self.a) }
        #expect(try kept == ["a": ["1"]])
    }
}

#endif
