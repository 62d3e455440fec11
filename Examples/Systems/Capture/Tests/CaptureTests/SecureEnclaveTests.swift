// SecureEnclaveTests: keys in a simulated Secure Enclave. ChipTests uses a TPM (swtpm).

import CryptoKit
import Foundation
import KeychainTesting
import Security
import Testing

@testable import Capture

@Suite(.freshKeychainWithSecureEnclave) struct `Secure Enclave` {
    private let service = KeychainService()
    private let message = Data("capture".utf8)

    private func publicKey(of key: SecKey) throws -> P256.Signing.PublicKey {
        try P256.Signing.PublicKey(x963Representation: service.publicKeyData(of: key))
    }

    @Test func `a key is made, loaded, used and deleted by its name`() throws {
        #expect(try service.loadSecureEnclaveKey(forKey: "key") == nil)
        let made = try service.createSecureEnclaveKey(forKey: "key")
        try testKeychain.restart()
        let loaded = try #require(try KeychainService().loadSecureEnclaveKey(forKey: "key"))
        for key in [made, loaded] {
            let signature = try P256.Signing.ECDSASignature(
                derRepresentation: service.signature(for: message, using: key))
            #expect(try publicKey(of: made).isValidSignature(signature, for: message))
            #expect(try !publicKey(of: made).isValidSignature(signature, for: Data()))
        }
        try service.deleteSecureEnclaveKey(forKey: "key")
        #expect(try service.loadSecureEnclaveKey(forKey: "key") == nil)
        try service.deleteSecureEnclaveKey(forKey: "key")
        #expect(try testKeychain.items().isEmpty)
    }

    @Test func `a key's attributes say that the key can't leave the hardware`() throws {
        let key = try service.createSecureEnclaveKey(forKey: "key")
        let query: [String: Any] = [
            kSecClass as String: kSecClassKey,
            kSecAttrApplicationTag as String: Data("key".utf8),
            kSecReturnAttributes as String: true,
        ]
        var result: CFTypeRef?
        #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
        let stored = try #require(result as? [String: Any])
        func number(_ name: CFString) -> Int? { stored[name as String] as? Int }
        func text(_ name: CFString) -> String? { stored[name as String] as? String }
        #expect(text(kSecAttrTokenID) == kSecAttrTokenIDSecureEnclave as String)
        #expect(number(kSecAttrKeySizeInBits) == 256)
        #expect("\(number(kSecAttrKeyType) ?? 0)" == kSecAttrKeyTypeECSECPrimeRandom as String)
        #expect(number(kSecAttrIsPermanent) == 1)
        #expect(number(kSecAttrIsExtractable) == 0)
        #expect(number(kSecAttrSynchronizable) == 0)
        #expect(
            text(kSecAttrAccessible)
                == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)
        let wanted = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .privateKeyUsage, nil)
        #expect(
            stored[kSecAttrAccessControl as String] as? SecAccessControl
                == wanted)
        #expect(SecKeyGetBlockSize(key) == 32)
    }

    @Test func `the private key can't be extracted`() throws {
        let key = try service.createSecureEnclaveKey(forKey: "key")
        #expect(SecKeyCopyExternalRepresentation(key, nil) == nil)
        #expect(try !service.isSecureEnclaveKeyExtractable(forKey: "key"))
        // The public key can be exported, so the failure above isn't caused by a missing export
        // function.
        #expect(try service.publicKeyData(of: key).count == 65)
        #expect(throws: KeychainError.itemNotFound) {
            try service.isSecureEnclaveKeyExtractable(forKey: "other")
        }
        try testKeychain.inject(.failure(.ioError), into: .search, after: 1, times: 1)
        #expect(throws: KeychainError.loadFailed(errSecIO)) {
            try service.isSecureEnclaveKeyExtractable(forKey: "key")
        }
    }

    @Test func `the key supports signing and refuses to encrypt`() throws {
        let key = try service.createSecureEnclaveKey(forKey: "key")
        #expect(SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureMessageX962SHA256))
        let algorithms: [SecKeyAlgorithm] = [
            .eciesEncryptionStandardX963SHA256AESGCM,
            .eciesEncryptionCofactorVariableIVX963SHA256AESGCM, .rsaEncryptionOAEPSHA256,
        ]
        for algorithm in algorithms {
            #expect(!SecKeyIsAlgorithmSupported(key, .encrypt, algorithm))
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateEncryptedData(key, algorithm, message as CFData, &error) == nil)
            #expect(error.map { CFErrorGetCode($0.takeRetainedValue()) } == Int(errSecParam))
        }
    }

    @Test
    func `creating a second key with the same name fails as a duplicate and keeps the first key`()
        throws
    {
        let first = try service.createSecureEnclaveKey(forKey: "key")
        #expect(throws: KeychainError.duplicateItem) {
            try service.createSecureEnclaveKey(forKey: "key")
        }
        #expect(try service.loadSecureEnclaveKey(forKey: "key") == first)
        let other = try service.createSecureEnclaveKey(forKey: "other")
        #expect(other != first)
        try service.deleteSecureEnclaveKey(forKey: "key")
        #expect(try service.loadSecureEnclaveKey(forKey: "other") == other)
    }

    @Test func `only one of the tasks that race to make a key succeeds`() async throws {
        let service = service
        let results = await withTaskGroup(of: Bool?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do {
                        _ = try service.createSecureEnclaveKey(forKey: "key")
                        return true
                    } catch {
                        return (error as? KeychainError) == .duplicateItem ? false : nil
                    }
                }
            }
            return await group.reduce(into: [Bool?]()) { $0.append($1) }
        }
        #expect(results.count { $0 == true } == 1)
        #expect(results.count { $0 == false } == 7)
        #expect(try testKeychain.items().count == 1)
    }

    @Test func `a software key with the same name is neither loaded nor deleted`() throws {
        let software: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits as String: 256,
            kSecPrivateKeyAttrs as String: [
                kSecAttrIsPermanent as String: true,
                kSecAttrApplicationTag as String: Data("key".utf8),
            ] as [String: Any],
        ]
        #expect(SecKeyCreateRandomKey(software as CFDictionary, nil) != nil)
        #expect(try service.loadSecureEnclaveKey(forKey: "key") == nil)
        try service.deleteSecureEnclaveKey(forKey: "key")
        #expect(try testKeychain.items().count == 1)
    }

    @Test func `another device doesn't have the key and can't sign with a copy of the item`() throws
    {
        let key = try service.createSecureEnclaveKey(forKey: "key")
        let other = TestKeychain()
        other.hasSecureEnclave = true
        try other.withSecItem { () throws -> Void in
            #expect(try service.loadSecureEnclaveKey(forKey: "key") == nil)
            let copy: [String: Any] = [
                kSecValueRef as String: key,
                kSecAttrApplicationTag as String: Data("key".utf8),
            ]
            #expect(SecItemAdd(copy as CFDictionary, nil) == errSecSuccess)
            let copied = try #require(try service.loadSecureEnclaveKey(forKey: "key"))
            #expect(throws: KeychainError.unexpectedError(errSecDecode)) {
                try service.signature(for: message, using: copied)
            }
        }
    }

    // MARK: Failures

    @Test func `without the hardware no key is made, not even in software`() throws {
        try testKeychain.hasSecureEnclave = false
        #expect(throws: KeychainError.secureEnclaveUnavailable) {
            try service.createSecureEnclaveKey(forKey: "key")
        }
        #expect(try service.loadSecureEnclaveKey(forKey: "key") == nil)
        #expect(try testKeychain.items().isEmpty)
    }

    @Test func `without its hardware a key is kept, and signing reports the missing hardware`()
        throws
    {
        let key = try service.createSecureEnclaveKey(forKey: "key")
        try testKeychain.hasSecureEnclave = false
        #expect(throws: KeychainError.secureEnclaveUnavailable) {
            try service.signature(for: message, using: key)
        }
        try testKeychain.hasSecureEnclave = true
        #expect(try service.signature(for: message, using: key).isEmpty == false)
    }

    @Test func `a locked key is reported as locked and can be loaded after the unlock`() throws {
        let key = try service.createSecureEnclaveKey(forKey: "key")
        try testKeychain.setPasscode("1234")
        try testKeychain.restart()
        #expect(throws: KeychainError.loadFailed(-25308)) {
            try service.loadSecureEnclaveKey(forKey: "key")
        }
        #expect(throws: KeychainError.unexpectedError(-25308)) {
            try service.signature(for: message, using: key)
        }
        #expect(throws: KeychainError.saveFailed(-25308)) {
            try service.createSecureEnclaveKey(forKey: "second")
        }
        try testKeychain.unlock()
        #expect(try service.loadSecureEnclaveKey(forKey: "key") == key)
        #expect(try service.loadSecureEnclaveKey(forKey: "second") == nil)
    }

    @Test
    func `failures to create, load and delete a key have distinct cases, which contain the status`()
        throws
    {
        _ = try service.createSecureEnclaveKey(forKey: "key")
        try testKeychain.inject(.failure(.ioError))
        #expect(throws: KeychainError.saveFailed(errSecIO)) {
            try service.createSecureEnclaveKey(forKey: "second")
        }
        #expect(throws: KeychainError.loadFailed(errSecIO)) {
            try service.loadSecureEnclaveKey(forKey: "key")
        }
        #expect(throws: KeychainError.deleteFailed(errSecIO)) {
            try service.deleteSecureEnclaveKey(forKey: "key")
        }
        try testKeychain.removeFaults()
        #expect(try service.loadSecureEnclaveKey(forKey: "key") != nil)
        #expect(try testKeychain.items().count == 1)
    }
}
