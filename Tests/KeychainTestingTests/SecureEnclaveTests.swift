// Keys of the Secure Enclave by name, with and without a Secure Enclave, through the engine and
// through the SecItem functions.

import Crypto
import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `Keys of the Secure Enclave by name` {
    private let test = TestKeychain()
    private let message = Data("message".utf8)

    private func keychain(_ isThroughSecItem: Bool, _ service: String = "s") -> Keychain {
        Keychain(
            service: service, in: isThroughSecItem ? test.secItemDatabase : test.database)
    }

    @Test(arguments: [false, true])
    func `a key is created, loaded and deleted by its name`(isThroughSecItem: Bool) throws {
        test.hasSecureEnclave = true
        let keychain = keychain(isThroughSecItem)
        #expect(try keychain.hasSecureEnclave())
        #expect(try keychain.loadSecureEnclaveKey("a") == nil)
        let made = try keychain.createSecureEnclaveKey("a")
        let signature = try made.signature(for: message)
        #expect(made.publicKey.isValidSignature(signature, for: message))
        #expect(!made.publicKey.isValidSignature(signature, for: Data("other".utf8)))

        // The restart stands for the next start of the program.
        try test.restart()
        let loaded = try #require(
            try Keychain(service: "s", in: keychain.database).loadSecureEnclaveKey("a"))
        #expect(loaded.name == "a")
        #expect(loaded.publicKey.rawRepresentation == made.publicKey.rawRepresentation)
        let digest = SHA512.hash(data: message)
        #expect(
            made.publicKey.isValidSignature(try loaded.signature(for: digest), for: digest))

        #expect(try keychain.deleteSecureEnclaveKey("a"))
        #expect(try !keychain.deleteSecureEnclaveKey("a"))
        #expect(try keychain.loadSecureEnclaveKey("a") == nil)
    }

    @Test(arguments: [false, true])
    func `without a Secure Enclave no key is created, not even in software`(
        isThroughSecItem: Bool
    ) throws {
        let keychain = keychain(isThroughSecItem)
        #expect(try !keychain.hasSecureEnclave())
        for operation: () throws -> Void in [
            { try keychain.createSecureEnclaveKey("a") },
            { _ = try keychain.loadSecureEnclaveKey("a") },
            { try keychain.deleteSecureEnclaveKey("a") },
        ] {
            #expect(code(operation) == .secureEnclaveUnavailable)
        }
        #expect(try test.items().isEmpty)
    }

    @Test(arguments: [false, true])
    func `an existing key is not replaced`(isThroughSecItem: Bool) throws {
        test.hasSecureEnclave = true
        let keychain = keychain(isThroughSecItem)
        let made = try keychain.createSecureEnclaveKey("a")
        #expect(code { try keychain.createSecureEnclaveKey("a") } == .duplicateItem)
        let loaded = try #require(try keychain.loadSecureEnclaveKey("a"))
        #expect(loaded.publicKey.rawRepresentation == made.publicKey.rawRepresentation)
        #expect(try test.items().count == 1)
    }

    @Test func `if many callers create a key with the same name, only one succeeds`() async throws {
        test.hasSecureEnclave = true
        let keychain = keychain(false)
        let made = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (try? await keychain.createSecureEnclaveKey("a")) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(made == 1)
        #expect(try test.items().count == 1)
    }

    @Test func `the names of keys are separate for each service`() throws {
        test.hasSecureEnclave = true
        let first = try keychain(false, "s").createSecureEnclaveKey("ab")
        let second = try keychain(false, "sa").createSecureEnclaveKey("b")
        #expect(first.publicKey.rawRepresentation != second.publicKey.rawRepresentation)
        #expect(try keychain(false, "sa").loadSecureEnclaveKey("ab") == nil)
        #expect(code { try keychain(false, "s").createSecureEnclaveKey("\0a") } == .param)
        // An item with the same name as a key is separate from the key.
        try keychain(false, "s").save("text", for: KeychainKey("ab"))
        #expect(try keychain(false, "s").deleteSecureEnclaveKey("ab"))
        #expect(try keychain(false, "s").load(KeychainKey<String>("ab")) == "text")
    }

    @Test(arguments: [false, true])
    func `a key has the requested protection`(isThroughSecItem: Bool) throws {
        test.hasSecureEnclave = true
        let keychain = keychain(isThroughSecItem)
        try keychain.createSecureEnclaveKey("usual")
        let critical = try keychain.createSecureEnclaveKey(
            "critical", accessibility: .whenUnlockedThisDeviceOnly)
        let stored = try test.items()
        #expect(stored.map(\.label) == ["usual", "critical"])
        #expect(
            stored.map(\.accessibility) == [
                .afterFirstUnlockThisDeviceOnly, .whenUnlockedThisDeviceOnly,
            ])
        #expect(stored.allSatisfy { !$0.isSynchronizable && $0.itemClass == "keys" })
        try test.lock()
        #expect(code { _ = try critical.signature(for: message) } == .interactionNotAllowed)
        #expect(
            code { _ = try keychain.loadSecureEnclaveKey("critical") } == .interactionNotAllowed)
        let usual = try #require(try keychain.loadSecureEnclaveKey("usual"))
        #expect(code { _ = try usual.signature(for: message) } == nil)
        try test.unlock()
        #expect(code { _ = try critical.signature(for: message) } == nil)
    }

    @Test(arguments: [false, true])
    func `using a key that requires presence prompts the user`(isThroughSecItem: Bool) throws {
        test.hasSecureEnclave = true
        let keychain = keychain(isThroughSecItem)
        #expect(
            code { try keychain.createSecureEnclaveKey("a", accessControl: .userPresence) }
                == .authFailed)
        try test.setPasscode("1234")
        let key = try keychain.createSecureEnclaveKey("a", accessControl: .userPresence)
        #expect(code { _ = try key.signature(for: message) } == .interactionNotAllowed)
        test.person = .owner
        #expect(code { _ = try key.signature(for: message) } == nil)
        #expect(test.askedQuestions.count == 1)
        test.person = .stranger
        #expect(code { _ = try key.signature(for: message) } == .authFailed)
    }

    @Test func `two parties agree on a secret, from which keys are derived`() async throws {
        test.hasSecureEnclave = true
        let key = try await keychain(false).createSecureEnclaveKey("a")
        for _ in 0..<8 {
            let other = P256.KeyAgreement.PrivateKey()
            let mine = try await key.sharedSecret(with: other.publicKey)
            let theirs = try other.sharedSecretFromKeyAgreement(with: key.agreementPublicKey)
            #expect(mine == theirs)
            let salt = Data("salt".utf8)
            #expect(
                mine.hkdfDerivedSymmetricKey(
                    using: SHA256.self, salt: salt, sharedInfo: Data(), outputByteCount: 32)
                    == theirs.hkdfDerivedSymmetricKey(
                        using: SHA256.self, salt: salt, sharedInfo: Data(), outputByteCount: 32))
        }
        let signature = try await key.signature(for: message)
        #expect(key.publicKey.isValidSignature(signature, for: message))
    }

    @Test func `the examples in the Secure Enclave article do what the article says`() async throws
    {
        let keychain = keychain(false)
        let request = message
        do {
            try await keychain.createSecureEnclaveKey("device")
            Issue.record("a key was created without a Secure Enclave")
        } catch KeychainError.Code.secureEnclaveUnavailable {
            // Without a Secure Enclave there is no key: no software key replaces it.
        }
        test.hasSecureEnclave = true
        func sign() throws {
            let key =
                try keychain.loadSecureEnclaveKey("device")
                ?? keychain.createSecureEnclaveKey("device")
            let signature = try key.signature(for: request)
            let isGenuine = key.publicKey.isValidSignature(signature, for: request)
            #expect(isGenuine)
        }
        try sign()
        try sign()
        #expect(try test.items().count == 1)

        try test.setPasscode("1234")
        test.person = .owner
        let key = try await keychain.createSecureEnclaveKey(
            "payments", accessibility: .whenUnlockedThisDeviceOnly, accessControl: .userPresence)
        #expect(test.askedQuestions.isEmpty)
        let order = message
        let signature = try await key.signature(for: order)
        #expect(key.publicKey.isValidSignature(signature, for: order))
        #expect(test.askedQuestions.count == 1)
        let theirs = P256.KeyAgreement.PrivateKey()
        let theirPublicKey = theirs.publicKey
        let salt = Data("salt".utf8)
        let secret = try await key.sharedSecret(with: theirPublicKey)
        let sessionKey = secret.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: salt, sharedInfo: Data(), outputByteCount: 32)
        let same = try theirs.sharedSecretFromKeyAgreement(with: key.agreementPublicKey)
            .hkdfDerivedSymmetricKey(
                using: SHA256.self, salt: salt, sharedInfo: Data(), outputByteCount: 32)
        #expect(sessionKey == same)
    }

    @Test func `a fault of the Secure Enclave can be injected`() throws {
        test.hasSecureEnclave = true
        let keychain = keychain(false)
        let key = try keychain.createSecureEnclaveKey("a")
        test.inject(.failure(.ioError), into: .secureEnclave, times: 1)
        #expect(code { _ = try key.signature(for: message) } == .ioError)
        #expect(code { _ = try key.signature(for: message) } == nil)
        test.hasSecureEnclave = false
        #expect(code { _ = try key.signature(for: message) } == .secureEnclaveUnavailable)
    }

    @Test func `Ed25519 keys are software keys, stored as generic passwords`() throws {
        let keychain = keychain(false)
        let key = Curve25519.Signing.PrivateKey()
        let name = KeychainKey<Curve25519.Signing.PrivateKey>("ed25519")
        try keychain.save(key, for: name)
        #expect(try keychain.load(name)?.rawRepresentation == key.rawRepresentation)
        #expect(try test.items().map(\.itemClass) == ["genp"])
    }
}
