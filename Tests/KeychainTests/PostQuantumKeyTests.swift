// Private keys of post-quantum algorithms: stored, loaded, and rejected if invalid.

import Crypto
import Foundation
import Testing

@testable import Keychain

@Suite struct PostQuantumKeyTests {
    private let keychain: Keychain

    init() throws {
        keychain = try TestDatabase(.typedInMemory).keychain()
    }

    /// Checks that a stored key can be loaded, and that data of another length or with a changed
    /// bit is refused.
    private func check<Key: IntegrityCheckedPrivateKey>(
        _ key: Key, _ isSame: (Key) throws -> Bool
    ) throws {
        let name = KeychainKey<Key>("key")
        try keychain.save(key, for: name)
        let loaded = try #require(try keychain.load(name))
        #expect(try isSame(loaded))
        let bytes = try #require(try keychain.load(.account("key")))
        #expect(bytes == key.integrityCheckedRepresentation)
        #expect(bytes.count == Key.integrityCheckedByteCount)
        var changed = bytes
        changed[changed.startIndex] ^= 1
        let others = [
            Data(), bytes.dropLast(), bytes + [0], bytes.prefix(32), bytes.dropLast(32), changed,
        ]
        for other in others {
            try keychain.save(other, for: .account("key"))
            let error = failure { _ = try keychain.load(name) }
            #expect(error?.code == .invalidData)
            #expect(error?.storedData == Data(other))
            #expect(error?.operation == .load)
        }
    }

    private let message = Data("message".utf8)

    @Test func `an ML-KEM-768 key round-trips, and invalid bytes are refused`() throws {
        let key = try MLKEM768.PrivateKey()
        let sent = try key.publicKey.encapsulate()
        try check(key) { try $0.decapsulate(sent.encapsulated) == sent.sharedSecret }
    }

    @Test func `an ML-KEM-1024 key round-trips, and invalid bytes are refused`() throws {
        let key = try MLKEM1024.PrivateKey()
        let sent = try key.publicKey.encapsulate()
        try check(key) { try $0.decapsulate(sent.encapsulated) == sent.sharedSecret }
    }

    @Test func `an ML-DSA-65 key round-trips, and invalid bytes are refused`() throws {
        let key = try MLDSA65.PrivateKey()
        try check(key) {
            key.publicKey.isValidSignature(try $0.signature(for: message), for: message)
        }
    }

    @Test func `an ML-DSA-87 key round-trips, and invalid bytes are refused`() throws {
        let key = try MLDSA87.PrivateKey()
        try check(key) {
            key.publicKey.isValidSignature(try $0.signature(for: message), for: message)
        }
    }

    @Test func `an X-Wing key round-trips, and invalid bytes are refused`() throws {
        let key = try XWingMLKEM768X25519.PrivateKey()
        let sent = try key.publicKey.encapsulate()
        try check(key) { try $0.decapsulate(sent.encapsulated) == sent.sharedSecret }
    }

    @Test func `a key of another algorithm is refused even if its seed has the same length`() throws
    {
        let key = try MLDSA65.PrivateKey()
        try keychain.save(key, for: KeychainKey("key"))
        let other = failure { _ = try keychain.load(KeychainKey<MLDSA87.PrivateKey>("key")) }
        #expect(other?.code == .invalidData)
        let xWing = KeychainKey<XWingMLKEM768X25519.PrivateKey>("key")
        #expect(failure { _ = try keychain.load(xWing) }?.code == .invalidData)
        let whole = try keychain.load(KeychainKey<MLDSA65.PrivateKey>("key"))
        #expect(whole?.seedRepresentation == key.seedRepresentation)
    }
}
