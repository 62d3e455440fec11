// AgeRecipients: the recipients and identities of age files: Curve25519 keys and passphrases.
//   (1) The sizes of a stanza's arguments and body are checked before the body is decrypted.
//   (2) A reader limits the cost of a passphrase, so that a file can't exhaust the machine.
//   (3) A shared secret of zeros, which results from a point of low order, is rejected.

import Crypto
import FoundationEssentials
package import KeychainCore

/// A recipient that a file is encrypted to.
package enum AgeRecipient: Sendable {
    /// A public key of 32 bytes.
    case x25519([UInt8])
    case passphrase(SecretBytes)

    fileprivate static let prefix = "age"

    /// Decodes `age1…`. Returns `nil` if the text is not such a key.
    package init?(text: String) {
        guard let key = Bech32.decode(Array(text.utf8), prefix: Self.prefix), key.count == 32 else {
            return nil
        }
        self = .x25519(key)
    }

    /// The public key as text; `nil` for a passphrase.
    package var text: String? {
        guard case .x25519(let key) = self else { return nil }
        return Bech32.encode(key, prefix: Self.prefix)
    }

    package var isPassphrase: Bool {
        if case .passphrase = self { true } else { false }
    }

    func wrap(_ fileKey: SecretBytes, cost: PasscodeCost) throws(AgeFailure) -> AgeStanza {
        switch self {
        case .x25519(let recipient):
            let ephemeral = Curve25519.KeyAgreement.PrivateKey()
            let share = Array(ephemeral.publicKey.rawRepresentation)
            guard let key = X25519Stanza.key(ephemeral, with: recipient, share, recipient),
                let body = FileKeyBox.seal(fileKey, using: key)
            else { throw .header }
            return AgeStanza(
                arguments: [X25519Stanza.name, AgeBase64.encode(share)], body: body)
        case .passphrase(let passphrase):
            let salt = Bytes16.random().bytes
            let key = try ScryptStanza.key(passphrase, salt, cost)
            guard let body = key.withSymmetricKey({ FileKeyBox.seal(fileKey, using: $0) }) else {
                throw .derivation
            }
            return AgeStanza(
                arguments: [ScryptStanza.name, AgeBase64.encode(salt), String(cost.logN)],
                body: body)
        }
    }
}

/// An identity, which opens files.
package enum AgeIdentity: Sendable {
    /// A private key of 32 bytes.
    case x25519(SecretBytes)
    case passphrase(SecretBytes)
    /// The file key that another identity unwrapped for the same file, so that the cost of a
    /// passphrase is paid only once.
    case fileKey(SecretBytes)

    private static let prefix = "age-secret-key-"

    /// Decodes `AGE-SECRET-KEY-1…`. Returns `nil` if the text is not such a key.
    package init?(text: [UInt8]) {
        guard var key = Bech32.decode(text, prefix: Self.prefix) else { return nil }
        defer { key.erase() }
        guard key.count == 32 else { return nil }
        self = .x25519(SecretBytes(copying: key))
    }

    /// The recipient to encrypt to for this identity; `nil` for a file key.
    package var recipient: AgeRecipient? {
        switch self {
        case .x25519(let secret):
            X25519Stanza.privateKey(secret).map { .x25519(Array($0.publicKey.rawRepresentation)) }
        case .passphrase(let passphrase): .passphrase(passphrase)
        case .fileKey: nil
        }
    }

    /// Returns `nil` if the stanza is not for this identity.
    func unwrap(_ stanza: AgeStanza) throws(AgeFailure) -> SecretBytes? {
        switch self {
        case .fileKey(let key): return key
        case .x25519(let secret):
            guard stanza.arguments[0] == X25519Stanza.name else { return nil }
            guard stanza.arguments.count == 2, stanza.body.count == FileKeyBox.byteCount,
                let share = AgeBase64.decode(stanza.arguments[1]), share.count == 32,
                let own = X25519Stanza.privateKey(secret)
            else { throw .header }
            let recipient = Array(own.publicKey.rawRepresentation)
            guard let key = X25519Stanza.key(own, with: share, share, recipient) else {
                throw .header
            }
            return FileKeyBox.open(stanza.body, using: key)
        case .passphrase(let passphrase):
            guard stanza.isOfPassphrase else { return nil }
            guard stanza.arguments.count == 3, stanza.body.count == FileKeyBox.byteCount,
                let salt = AgeBase64.decode(stanza.arguments[1]), salt.count == 16,
                let logN = UInt8(stanza.arguments[2]), String(logN) == stanza.arguments[2]
            else { throw .header }
            let cost = PasscodeCost(logN: logN, blockSize: 8, parallelism: 1)
            guard cost.isAcceptable else { throw .header }
            return try ScryptStanza.key(passphrase, salt, cost).withSymmetricKey {
                FileKeyBox.open(stanza.body, using: $0)
            }
        }
    }
}

private enum X25519Stanza {
    static let name = "X25519"

    static func privateKey(_ secret: SecretBytes) -> Curve25519.KeyAgreement.PrivateKey? {
        var bytes = secret.data
        defer { bytes.resetBytes(in: 0..<bytes.count) }
        return try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
    }

    /// Returns `nil` if the peer's point is of low order.
    static func key(
        _ own: Curve25519.KeyAgreement.PrivateKey, with other: [UInt8], _ share: [UInt8],
        _ recipient: [UInt8]
    ) -> SymmetricKey? {
        guard let point = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: other),
            let secret = (try? own.sharedSecretFromKeyAgreement(with: point)).map(
                SecretBytes.init),
            !secret.isEqual(to: zeros)
        else { return nil }
        return AgeKeys.derive(
            from: secret, salt: share + recipient, info: "age-encryption.org/v1/X25519")
    }

    /// Compared explicitly, because the library accepts a shared secret of zeros.
    private static let zeros = SecretBytes(copying: [UInt8](repeating: 0, count: 32))
}

private enum ScryptStanza {
    static let name = "scrypt"

    static func key(
        _ passphrase: SecretBytes, _ salt: [UInt8], _ cost: PasscodeCost
    ) throws(AgeFailure) -> SecretBytes {
        do {
            return try cost.deriveKey(
                from: passphrase, salt: Array("age-encryption.org/v1/scrypt".utf8) + salt)
        } catch {
            throw .derivation
        }
    }
}

/// A file key encrypted under a key that encrypts nothing else. The nonce is therefore zero.
private enum FileKeyBox {
    static let byteCount = AgeFile.fileKeyByteCount + 16

    static func seal(_ fileKey: SecretBytes, using key: SymmetricKey) -> [UInt8]? {
        var plaintext = fileKey.data
        defer { plaintext.resetBytes(in: 0..<plaintext.count) }
        guard let nonce = try? ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 12)),
            let box = try? ChaChaPoly.seal(plaintext, using: key, nonce: nonce)
        else { return nil }
        return Array(box.ciphertext + box.tag)
    }

    static func open(_ body: [UInt8], using key: SymmetricKey) -> SecretBytes? {
        guard body.count == byteCount,
            let box = try? ChaChaPoly.SealedBox(combined: [UInt8](repeating: 0, count: 12) + body),
            var plaintext = try? ChaChaPoly.open(box, using: key)
        else { return nil }
        defer { plaintext.resetBytes(in: 0..<plaintext.count) }
        return SecretBytes(copying: plaintext)
    }
}
