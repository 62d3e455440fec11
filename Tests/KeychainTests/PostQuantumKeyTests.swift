// The private keys of post-quantum algorithms: stored and loaded, and what isn't one.

import Crypto
import Foundation
import Testing

@testable import Keychain

@Suite struct PostQuantumKeyTests {
    private let keychain: Keychain

    init() throws {
        keychain = try TestDatabase(.typedInMemory).keychain()
    }

    /// Stores a key and loads it. Then every other length is refused, and so is a changed bit.
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

    @Test func `a key of ML-KEM-768 comes back, and other bytes are none`() throws {
        let key = try MLKEM768.PrivateKey()
        let sent = try key.publicKey.encapsulate()
        try check(key) { try $0.decapsulate(sent.encapsulated) == sent.sharedSecret }
    }

    @Test func `a key of ML-KEM-1024 comes back, and other bytes are none`() throws {
        let key = try MLKEM1024.PrivateKey()
        let sent = try key.publicKey.encapsulate()
        try check(key) { try $0.decapsulate(sent.encapsulated) == sent.sharedSecret }
    }

    @Test func `a key of ML-DSA-65 comes back, and other bytes are none`() throws {
        let key = try MLDSA65.PrivateKey()
        try check(key) {
            key.publicKey.isValidSignature(try $0.signature(for: message), for: message)
        }
    }

    @Test func `a key of ML-DSA-87 comes back, and other bytes are none`() throws {
        let key = try MLDSA87.PrivateKey()
        try check(key) {
            key.publicKey.isValidSignature(try $0.signature(for: message), for: message)
        }
    }

    @Test func `a key of X-Wing comes back, and other bytes are none`() throws {
        let key = try XWingMLKEM768X25519.PrivateKey()
        let sent = try key.publicKey.encapsulate()
        try check(key) { try $0.decapsulate(sent.encapsulated) == sent.sharedSecret }
    }

    @Test func `a key of another algorithm is none, though its seed is as long`() throws {
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
