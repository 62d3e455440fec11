// Hardware keys through CryptoKit's API, with code as it is written for Apple's platforms.

import Foundation
import KeychainAuthentication
import KeychainCryptoKit
import KeychainServices
import KeychainTesting
import Testing

@Suite struct `SecureEnclave with CryptoKit's API` {
    private let test = TestKeychain()
    private let message = Data("message".utf8)

    init() { test.hasSecureEnclave = true }

    private func status(_ body: () throws -> Void) -> OSStatus? {
        do {
            try body()
            return nil
        } catch {
            let error = error as NSError
            #expect(error.domain == NSOSStatusErrorDomain)
            #expect(!error.localizedDescription.isEmpty)
            return OSStatus(error.code)
        }
    }

    @Test func `a key signs, and is recreated from its data`() throws {
        try test.withSecItem {
            #expect(SecureEnclave.isAvailable)
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let signature = try key.signature(for: message)
            #expect(key.publicKey.isValidSignature(signature, for: message))
            let again = try SecureEnclave.P256.Signing.PrivateKey(
                dataRepresentation: key.dataRepresentation)
            #expect(again.publicKey.rawRepresentation == key.publicKey.rawRepresentation)
            let digest = SHA384.hash(data: message)
            #expect(key.publicKey.isValidSignature(try again.signature(for: digest), for: digest))
            #expect(!key.publicKey.isValidSignature(signature, for: Data()))
        }
        // Nothing is stored in the keychain.
        #expect(try test.items().isEmpty)
    }

    @Test func `both parties agree on the same secret`() throws {
        try test.withSecItem {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            let again = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                dataRepresentation: key.dataRepresentation)
            let other = P256.KeyAgreement.PrivateKey()
            let mine = try again.sharedSecretFromKeyAgreement(with: other.publicKey)
            #expect(try mine == other.sharedSecretFromKeyAgreement(with: key.publicKey))
            let both = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            #expect(
                try key.sharedSecretFromKeyAgreement(with: both.publicKey)
                    == both.sharedSecretFromKeyAgreement(with: key.publicKey))
        }
    }

    @Test func `by default, every new key has a compact representation`() throws {
        try test.withSecItem {
            for _ in 0..<8 {
                let key = try SecureEnclave.P256.Signing.PrivateKey()
                #expect(key.publicKey.compactRepresentation != nil)
            }
            var others = 0
            for _ in 0..<64 where others == 0 {
                let key = try SecureEnclave.P256.Signing.PrivateKey(compactRepresentable: false)
                if key.publicKey.compactRepresentation == nil { others += 1 }
            }
            #expect(others > 0)
        }
    }

    @Test func `without the hardware no key can be created`() throws {
        test.hasSecureEnclave = false
        test.withSecItem {
            #expect(!SecureEnclave.isAvailable)
            #expect(
                status { _ = try SecureEnclave.P256.Signing.PrivateKey() }
                    == errSecUnimplemented)
            #expect(
                status { _ = try SecureEnclave.P256.KeyAgreement.PrivateKey() }
                    == errSecUnimplemented)
        }
    }

    @Test func `invalid bytes and another keychain's key are refused`() throws {
        let data = try test.withSecItem {
            #expect(
                status {
                    _ = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: message)
                } == errSecDecode)
            return try SecureEnclave.P256.Signing.PrivateKey().dataRepresentation
        }
        let other = TestKeychain()
        other.hasSecureEnclave = true
        other.withSecItem {
            #expect(
                status {
                    let key = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: data)
                    _ = try key.signature(for: message)
                } == errSecDecode)
        }
    }

    @Test func `a key is used with the authentication context that it was created with`() throws {
        try test.setPasscode("1234")
        let control = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, .userPresence],
            nil)
        test.person = .owner
        try test.withSecItem {
            let context = LAContext()
            let key = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: control, authenticationContext: context)
            #expect(test.askedQuestions.isEmpty)
            for _ in 0..<3 {
                #expect(
                    key.publicKey.isValidSignature(try key.signature(for: message), for: message))
            }
            #expect(test.askedQuestions.count == 1)
            test.person = nil
            let stranger = try SecureEnclave.P256.Signing.PrivateKey(
                dataRepresentation: key.dataRepresentation)
            #expect(
                status { _ = try stranger.signature(for: message) }
                    == errSecInteractionNotAllowed)
        }
    }
}
