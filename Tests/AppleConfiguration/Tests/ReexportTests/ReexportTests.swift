// ReexportTests: on Apple's platforms, some products only reexport a system module under another
// name. The tests use Apple's names through these products.

import KeychainAuthentication
import KeychainCryptoKit
import KeychainServices
import StandIn
import Testing

@Suite struct `Modules of the system under other names` {
    @Test func `KeychainServices has the functions, constants and types of Security`() throws {
        let system = StandInKeychain()
        let item =
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "a",
                kSecValueData: Data("secret".utf8),
            ] as CFDictionary
        var statuses: [OSStatus] = []
        var found: CFTypeRef?
        system.run {
            statuses = [SecItemAdd(item, nil), SecItemAdd(item, nil)]
            let query =
                [
                    kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecReturnData: true,
                ] as CFDictionary
            // SAFETY: the pointer is used during the call only.
            statuses.append(unsafe SecItemCopyMatching(query, &found))
            statuses.append(SecItemDelete(query))
        }
        #expect(statuses == [errSecSuccess, errSecDuplicateItem, errSecSuccess, errSecSuccess])
        #expect(found as? Data == Data("secret".utf8))
    }

    @Test func `KeychainAuthentication has the types of LocalAuthentication`() {
        let context = LAContext()
        context.interactionNotAllowed = true
        context.invalidate()
        var error: NSError?
        // SAFETY: the pointer to the error is used during the call only.
        let canAsk = unsafe context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error)
        #expect(!canAsk)
        #expect(error?.domain == LAErrorDomain)
        #expect(error?.code == LAError.invalidContext.rawValue)
    }

    @Test func `KeychainCryptoKit has the types of CryptoKit`() throws {
        let key = SymmetricKey(size: .bits256)
        let sealed = try AES.GCM.seal(Data("text".utf8), using: key)
        #expect(try AES.GCM.open(sealed, using: key) == Data("text".utf8))
    }
}
