// EmptyingTests: code commonly used to delete all items at an app's first launch, in a program
// without entitlements.

#if !canImport(Darwin)

import Foundation
import KeychainRuntime
import KeychainEngine
import KeychainCore
import KeychainTesting
import Testing

@testable import KeychainServices

@Suite struct EmptyingTests {
    private let test = TestKeychain()

    /// Runs `body` as the program with this name.
    private func run<Result>(
        as program: String, _ body: () throws -> Result
    ) throws -> Result {
        let connection = ProcessConnection(
            handler: .engine(try test.engine),
            caller: .withoutEntitlements(executable: "/usr/bin/" + program))
        return try KeychainContext.$connection.withValue(connection, operation: body)
    }

    private func add(_ account: String, _ itemClass: CFString) -> OSStatus {
        let place = itemClass == kSecClassGenericPassword ? kSecAttrService : kSecAttrServer
        let item: [CFString: Any] = [
            kSecClass: itemClass, kSecAttrAccount: account, place: "service",
        ]
        return SecItemAdd(item as CFDictionary, nil)
    }

    private static var classes: [CFString] {
        [
            kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate,
            kSecClassKey, kSecClassIdentity,
        ]
    }

    @Test
    func `deleting everything at a program's first launch keeps the secrets of other programs`()
        throws
    {
        try run(as: "notes") {
            #expect(add("n", kSecClassGenericPassword) == errSecSuccess)
            #expect(add("n", kSecClassInternetPassword) == errSecSuccess)
            #expect(SecKeyCalls.create(["type": "73", "perm": true]).value != nil)
        }
        let before = try test.items()
        #expect(before.count == 3)
        try run(as: "mail") {
            for itemClass in Self.classes {
                for more in [
                    [:], [kSecAttrSynchronizable: kSecAttrSynchronizableAny],
                    [kSecMatchLimit: kSecMatchLimitAll], [kSecAttrAccessGroup: "default"],
                ] as [[CFString: Any]] {
                    let query = more.merging([kSecClass: itemClass]) { old, _ in old }
                    #expect(SecItemDelete(query as CFDictionary) == errSecItemNotFound)
                    let changes = [kSecAttrLabel: "mail's"] as CFDictionary
                    if more[kSecMatchLimit] == nil {
                        #expect(SecItemUpdate(query as CFDictionary, changes) == errSecItemNotFound)
                    }
                }
            }
        }
        #expect(try test.items() == before)
    }

    @Test func `deleting everything deletes the program's own items`() throws {
        try run(as: "notes") { #expect(add("n", kSecClassGenericPassword) == errSecSuccess) }
        try run(as: "mail") {
            #expect(add("m", kSecClassGenericPassword) == errSecSuccess)
            let query = [kSecClass: kSecClassGenericPassword] as CFDictionary
            #expect(SecItemDelete(query) == errSecSuccess)
            #expect(SecItemDelete(query) == errSecItemNotFound)
        }
        #expect(try test.items().map(\.account) == ["n"])
    }
}

#endif
