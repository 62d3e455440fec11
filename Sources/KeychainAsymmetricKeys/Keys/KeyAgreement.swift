// KeyAgreement: what a private key and another party's public key have in common.

import Crypto
package import FoundationEssentials

/// What a key derivation takes beside the shared secret.
package struct KeyExchangeParameters: Hashable, Sendable {
    /// The bytes wanted, 1 and up. nil: not given.
    package var requestedByteCount: Int?
    package var sharedInfo: Data

    package init(requestedByteCount: Int? = nil, sharedInfo: Data = Data()) {
        self.requestedByteCount = requestedByteCount
        self.sharedInfo = sharedInfo
    }
}

extension KeyExchangeAlgorithm {
    /// What both sides have in the end.
    func derive(
        from secret: [UInt8], _ parameters: KeyExchangeParameters
    ) throws(KeyOperationFailure) -> Data {
        switch self {
        case .ecdh:
            return Data(secret)
        case .ecdhX963(let digest):
            guard let count = parameters.requestedByteCount, count > 0,
                count <= DigestAlgorithm.maximumDerivedByteCount
            else { throw .parameter("The size of the derived bytes is missing or impossible.") }
            return Data(
                digest.deriveX963(
                    secret: secret, sharedInfo: parameters.sharedInfo, byteCount: count))
        }
    }
}

extension AsymmetricPrivateKey {
    /// The shared secret, or what is derived from it.
    ///
    /// - Throws: `parameter` for keys of different kinds or curves, or without a size where the
    ///   algorithm derives.
    package func exchange(
        with peer: AsymmetricPublicKey, using algorithm: KeyExchangeAlgorithm,
        _ parameters: KeyExchangeParameters
    ) throws(KeyOperationFailure) -> Data {
        let secret = try sharedSecret(with: peer)
        return try algorithm.derive(from: secret, parameters)
    }

    private func sharedSecret(
        with peer: AsymmetricPublicKey
    ) throws(KeyOperationFailure) -> [UInt8] {
        guard shape == peer.shape else {
            throw .parameter("The two keys are on different curves.")
        }
        do {
            switch (key, peer.key) {
            case (.elliptic(let own), .elliptic(let other)):
                return try own.agree(with: other.point)
            case (.x25519(let own), .x25519(let other)):
                let secret = try own.sharedSecretFromKeyAgreement(with: other).bytes
                // RFC 7748, section 6.1: a public key of low order makes a secret of zeros, which
                // everybody knows. The library lets it pass. All bytes are looked at.
                guard secret.reduce(0, |) != 0 else {
                    throw KeyOperationFailure.parameter("The other side's key has a low order.")
                }
                return secret
            default:
                throw KeyOperationFailure.parameter("The key can't be used for key agreement.")
            }
        } catch {
            throw error as? KeyOperationFailure
                ?? .parameter("The keys can't be used with each other.")
        }
    }
}
