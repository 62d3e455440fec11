// The simulated user of a test keychain, through the `Keychain` API.

import Foundation
import Keychain
import KeychainServices
import KeychainTesting
import Testing

@Suite struct `The person in front of a test keychain` {
    private let test = TestKeychain()

    /// Adds an item that requires the user's presence.
    private func addProtected() throws {
        try test.setPasscode("1234")
        let control = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
        let item: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
            kSecAttrAccount as String: "a", kSecValueData as String: Data("x".utf8),
            kSecAttrAccessControl as String: try #require(control),
        ]
        #expect(test.withSecItem { SecItemAdd(item as CFDictionary, nil) } == errSecSuccess)
    }

    @Test(arguments: [false, true])
    func `a load prompts the user, through the engine and through the SecItem functions`(
        isThroughSecItem: Bool
    ) throws {
        try addProtected()
        let keychain = Keychain(
            service: "s", in: isThroughSecItem ? test.secItemDatabase : test.database)
        func load() -> KeychainError.Code? {
            code {
                let loaded = try keychain.load(KeychainKey<String>("a"))
                #expect(loaded == "x")
            }
        }
        #expect(load() == .interactionNotAllowed)
        #expect(test.askedQuestions.isEmpty)
        test.person = .owner
        #expect(load() == nil)
        test.person = .stranger
        #expect(load() == .authFailed)
        test.person = .declining
        #expect(load() == .userCanceled)
        #expect(test.askedQuestions.count == 1 + 3 + 1)
        test.person = nil
        #expect(try keychain.exists(.account("a")))
        #expect(code { try keychain.save("y", for: KeychainKey("a")) } == .interactionNotAllowed)
        #expect(try keychain.delete(.account("a")))
        #expect(try !keychain.exists(.account("a")))
    }
}
