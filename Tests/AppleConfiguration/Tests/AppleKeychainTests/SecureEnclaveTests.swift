// SecureEnclaveTests: keys of the Secure Enclave, through a stand-in for the system's functions.

import Crypto
import Foundation
import StandIn
import Testing

@testable import Keychain

@Suite struct `Keys of the Secure Enclave by the system's functions` {
    @Test func `a key is created, found, used and deleted`() throws {
        let test = try TestDatabase(.secItem)
        test.system.setSecureEnclave(true)
        let keychain = test.keychain()
        #expect(try keychain.hasSecureEnclave())
        #expect(try keychain.loadSecureEnclaveKey("k") == nil)

        let made = try keychain.createSecureEnclaveKey("k")
        let found = try #require(try keychain.loadSecureEnclaveKey("k"))
        let message = Data("message".utf8)
        let signature = try found.signature(for: message)
        #expect(made.publicKey.isValidSignature(signature, for: message))
        let digest = try made.signature(for: SHA256.hash(data: message))
        #expect(found.publicKey.isValidSignature(digest, for: message))

        let other = P256.KeyAgreement.PrivateKey()
        let secret = try found.sharedSecret(with: other.publicKey)
        let same = try other.sharedSecretFromKeyAgreement(with: made.agreementPublicKey)
        #expect(secret == same)

        #expect(try keychain.deleteSecureEnclaveKey("k"))
        #expect(try keychain.loadSecureEnclaveKey("k") == nil)
    }

    @Test func `without the hardware no key is created`() throws {
        let test = try TestDatabase(.secItem)
        test.system.setSecureEnclave(false)
        let keychain = test.keychain()
        #expect(try !keychain.hasSecureEnclave())
        let error = failure { _ = try keychain.createSecureEnclaveKey("k") }
        #expect(error?.code == .secureEnclaveUnavailable)
    }
}
