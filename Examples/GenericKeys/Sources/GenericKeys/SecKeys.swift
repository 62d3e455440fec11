// SecKeys: keys on NIST curves, stored as items of class key.

import CryptoKit
import Foundation
import KeyStores
import Security

@MainActor func secKeys(_ session: Session) throws {
    session.title("Keys that Security supports, stored as items of class key")
    try roundTrip(session, "P256.Signing", P256.Signing.PrivateKey())
    try roundTrip(session, "P256.KeyAgreement", P256.KeyAgreement.PrivateKey())
    try roundTrip(session, "P384.Signing", P384.Signing.PrivateKey())
    try roundTrip(session, "P384.KeyAgreement", P384.KeyAgreement.PrivateKey())
    try roundTrip(session, "P521.Signing", P521.Signing.PrivateKey())
    try roundTrip(session, "P521.KeyAgreement", P521.KeyAgreement.PrivateKey())

    let store = SecKeyStore()
    let small = P256.Signing.PrivateKey()
    let large = P384.Signing.PrivateKey()
    try store.store(small, label: label)
    try store.store(large, label: label)
    session.check(
        "two keys of different sizes can have the same label",
        try store.read(P256.Signing.PrivateKey.self, label: label)?.x963Representation
            == small.x963Representation
            && store.read(P384.Signing.PrivateKey.self, label: label)?.x963Representation
                == large.x963Representation
    )
    let refusal = status { try store.store(P256.Signing.PrivateKey(), label: label) }
    let kept = try store.read(P256.Signing.PrivateKey.self, label: label)
    session.check(
        "a second key of the same size and label is refused, and the first key is kept",
        refusal == errSecDuplicateItem && kept?.x963Representation == small.x963Representation)
    try usedBySecurity(session, store, small)
    try store.delete(P256.Signing.PrivateKey.self, label: label)
    try store.delete(P384.Signing.PrivateKey.self, label: label)
    session.check(
        "a deleted key is gone",
        try store.read(P256.Signing.PrivateKey.self, label: label) == nil)
}

@MainActor private func roundTrip<Key: SecKeyConvertible>(
    _ session: Session, _ name: String, _ key: Key
) throws {
    let store = SecKeyStore()
    try store.store(key, label: label)
    session.check(
        "\(name) comes back as it was stored",
        try store.read(Key.self, label: label)?.x963Representation == key.x963Representation)
    try store.delete(Key.self, label: label)
}

/// Uses a stored key with Security and the same key with CryptoKit.
@MainActor private func usedBySecurity(
    _ session: Session, _ store: SecKeyStore, _ key: P256.Signing.PrivateKey
) throws {
    let message = Data("message".utf8)
    guard let secKey = try store.reference(to: P256.Signing.PrivateKey.self, label: label),
        let publicKey = SecKeyCopyPublicKey(secKey),
        let signature = SecKeyCreateSignature(
            secKey, .ecdsaSignatureMessageX962SHA256, message as CFData, nil) as Data?
    else {
        session.check("Security uses the key", false)
        return
    }
    session.check(
        "CryptoKit verifies a signature that Security created",
        key.publicKey.isValidSignature(
            try P256.Signing.ECDSASignature(derRepresentation: signature), for: message))
    session.check(
        "Security verifies a signature that CryptoKit created",
        SecKeyVerifySignature(
            publicKey, .ecdsaSignatureMessageX962SHA256, message as CFData,
            try key.signature(for: message).derRepresentation as CFData, nil))

    let mine = try P256.KeyAgreement.PrivateKey(x963Representation: key.x963Representation)
    let other = P256.KeyAgreement.PrivateKey()
    let attributes: [String: Any] = [
        kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
        kSecAttrKeyClass as String: kSecAttrKeyClassPublic,
    ]
    let theirs = SecKeyCreateWithData(
        other.publicKey.x963Representation as CFData, attributes as CFDictionary, nil)
    let agreed = theirs.flatMap {
        SecKeyCopyKeyExchangeResult(
            secKey, .ecdhKeyExchangeStandard, $0, [:] as CFDictionary, nil) as Data?
    }
    let expected = try mine.sharedSecretFromKeyAgreement(with: other.publicKey)
    session.check(
        "with another key, Security and CryptoKit agree on the same secret",
        agreed == expected.withUnsafeBytes { Data($0) })
}
