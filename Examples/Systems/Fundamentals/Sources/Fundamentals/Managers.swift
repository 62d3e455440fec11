// Managers: checks KeychainManager, LegacyKeychainManager and AuthViewModel with an unlocked and a
// locked keychain, and stores CryptoKit's keys.

import CryptoKit
import Foundation
import SecItemFundamentals
import Security

extension Session {
    func managers() async throws {
        title("KeychainManager, an actor: one call after the other, off the main actor")
        let manager = KeychainManager(service: Self.service)
        try await calls("an absent secret is nil") { try await manager.load(for: "alice") == nil }
        try await calls("a saved secret is loaded") {
            try await manager.save(Data("first".utf8), for: "alice")
            return try await manager.load(for: "alice") == Data("first".utf8)
        }
        let before = reference("alice")
        try await calls("saving again changes the secret") {
            try await manager.save(Data("second".utf8), for: "alice")
            return try await manager.load(for: "alice") == Data("second".utf8)
        }
        check(
            "and the item keeps its persistent reference",
            before != nil && reference("alice") == before)
        let bytes = Data([0, 255, 10, 0])
        try await manager.save(bytes, for: "bob")
        check("every byte is loaded as it was saved", try await manager.load(for: "bob") == bytes)
        try await calls("the accounts are listed") {
            try await manager.allAccounts() == ["alice", "bob"]
        }
        try await calls("a deleted secret is gone, and deleting it again succeeds") {
            try await manager.delete(key: "alice")
            try await manager.delete(key: "alice")
            return try await manager.load(for: "alice") == nil
        }

        title("LegacyKeychainManager, with a completion handler, on its own serial queue")
        let legacy = LegacyKeychainManager(service: Self.service)
        check("an absent secret is nil", try await load("alice", by: legacy) == nil)
        check("a secret that the actor saved is loaded", try await load("bob", by: legacy) == bytes)

        title("AuthViewModel, on the main actor")
        let model = await AuthViewModel(keychain: manager)
        await model.loadToken()
        check("without a token: not authenticated", await !model.isAuthenticated)
        try await manager.save(Data("token".utf8), for: "token")
        await model.loadToken()
        check("with a token: authenticated", await model.isAuthenticated)
        try removeEverything()
    }

    private func load(_ key: String, by legacy: LegacyKeychainManager) async throws -> Data? {
        try await withCheckedThrowingContinuation { continuation in
            legacy.load(key: key) { continuation.resume(with: $0) }
        }
    }

    func keys() async throws {
        title("Keys of CryptoKit, as generic passwords")
        let manager = KeychainManager(service: Self.service)
        let key = SymmetricKey(size: .bits256)
        try await manager.save(key: key, for: "key.encryption")
        let sealed = try AES.GCM.seal(Data("message".utf8), using: key)
        let loaded = try await manager.load(key: SymmetricKey.self, for: "key.encryption")
        check(
            "a loaded symmetric key opens what was sealed before the key was saved",
            try loaded.map { try AES.GCM.open(sealed, using: $0) } == Data("message".utf8))

        let signer = P256.Signing.PrivateKey()
        try await manager.save(key: signer, for: "key.signing")
        let signature = try await manager.load(
            key: P256.Signing.PrivateKey.self, for: "key.signing")?
            .signature(for: Data("message".utf8))
        check(
            "a signature by a loaded P-256 key is valid for the key that was saved",
            signature.map { signer.publicKey.isValidSignature($0, for: Data("message".utf8)) }
                == true)

        try await manager.save(Data("no key".utf8), for: "key.signing")
        let damaged = try? await manager.load(
            key: P256.Signing.PrivateKey.self, for: "key.signing")
        check(
            "bytes that aren't a P-256 key cause an error and stay stored",
            damaged == nil && secret("key.signing") == "no key")
    }

    // MARK: With a passcode

    func locked() async {
        title("Before the first unlock")
        let manager = KeychainManager(service: Self.service)
        let legacy = LegacyKeychainManager(service: Self.service)
        await refused("a load") { _ = try await manager.load(for: "kept") }
        await refused("a save") { try await manager.save(Data(), for: "kept") }
        await refused("a listing") { _ = try await manager.allAccounts() }
        await refused("a load with a completion handler") {
            _ = try await self.load("kept", by: legacy)
        }
        let model = await AuthViewModel(keychain: manager, key: "kept")
        await model.loadToken()
        let (isAuthenticated, error) = await (model.isAuthenticated, model.error)
        check(
            "the view model reports the reason: \(error.map { "\($0)" } ?? "no error")",
            !isAuthenticated && error?.status == errSecInteractionNotAllowed)
    }

    private func refused(_ call: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            check("\(call) is refused", false)
        } catch {
            check(
                "\(call) is refused: \((error as? KeychainError)?.status ?? 0)",
                (error as? KeychainError)?.status == errSecInteractionNotAllowed)
        }
    }

    func unlocked() async throws {
        title("After the passcode was removed")
        let manager = KeychainManager(service: Self.service)
        check(
            "an item that was locked is unchanged",
            try await manager.load(for: "kept") == Data("secret".utf8))
        check(
            "an item that needs a passcode was deleted with the passcode",
            try await manager.load(for: "late") == nil)
    }
}
