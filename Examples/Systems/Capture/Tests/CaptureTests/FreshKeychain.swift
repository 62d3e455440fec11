// FreshKeychain: a separate simulated device for each test. The SecItem functions use its keychain.

import Capture
import Foundation
import KeychainTesting
import Security
import Testing

/// Runs each test, and each case of a test with arguments, with an empty keychain in memory.
struct FreshKeychain: TestTrait, SuiteTrait, TestScoping {
    @TaskLocal static var current: TestKeychain?

    let isRecursive = true
    let hasSecureEnclave: Bool

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let keychain = TestKeychain()
        keychain.hasSecureEnclave = hasSecureEnclave
        try await Self.$current.withValue(keychain) {
            try await keychain.withSecItem { try await function() }
        }
    }
}

extension Trait where Self == FreshKeychain {
    /// A device without a Secure Enclave.
    static var freshKeychain: FreshKeychain { FreshKeychain(hasSecureEnclave: false) }
    /// A device with a simulated Secure Enclave.
    static var freshKeychainWithSecureEnclave: FreshKeychain {
        FreshKeychain(hasSecureEnclave: true)
    }
}

/// The keychain of the running test.
var testKeychain: TestKeychain { get throws { try #require(FreshKeychain.current) } }

/// A key for tests in which the key does not matter.
let anyKey = "rial.test"

/// All attributes of a generic password of a service, with its persistent reference, as the SecItem
/// functions return them; `nil` if the item does not exist.
func storedAttributes(
    forKey key: String, service: String = "app.rial.keychain", isSynchronizable: Bool = false
) throws -> [String: Any]? {
    let query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: service,
        kSecAttrAccount as String: key,
        kSecAttrSynchronizable as String: isSynchronizable,
        kSecReturnAttributes as String: true,
        kSecReturnPersistentRef as String: true,
        kSecUseDataProtectionKeychain as String: true,
    ]
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    if status == errSecItemNotFound { return nil }
    try #require(status == errSecSuccess)
    return try #require(result as? [String: Any])
}
