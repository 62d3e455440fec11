// KeyAgreement: the shared secret of a private key and a peer's public key.

import Crypto
package import FoundationEssentials

/// The parameters of a key derivation, in addition to the shared secret.
package struct KeyExchangeParameters: Hashable, Sendable {
    /// The number of bytes to derive, at least 1, or `nil` if the caller passed none.
    package var requestedByteCount: Int?
    package var sharedInfo: Data

    package init(requestedByteCount: Int? = nil, sharedInfo: Data = Data()) {
        self.requestedByteCount = requestedByteCount
        self.sharedInfo = sharedInfo
    }
}

extension KeyExchangeAlgorithm {
    /// Checks the parameters. Call this before the hardware computes the shared secret, because the
    /// user may be prompted for that.
    ///
    /// - Throws: `parameter` if the algorithm includes a key derivation and the requested size is
    ///   missing or out of range.
    package func check(_ parameters: KeyExchangeParameters) throws(KeyOperationFailure) {
        if case .ecdhX963 = self { _ = try parameters.derivedByteCount() }
    }

    /// Derives the result of the exchange from the shared secret.
    func derive(
        from secret: [UInt8], _ parameters: KeyExchangeParameters
    ) throws(KeyOperationFailure) -> Data {
        switch self {
        case .ecdh:
            return Data(secret)
        case .ecdhX963(let digest):
            let count = try parameters.derivedByteCount()
            return Data(
                digest.deriveX963(
                    secret: secret, sharedInfo: parameters.sharedInfo, byteCount: count))
        }
    }
}

extension KeyExchangeParameters {
    /// The requested size, which a key derivation requires.
    fileprivate func derivedByteCount() throws(KeyOperationFailure) -> Int {
        guard let count = requestedByteCount, count > 0,
            count <= DigestAlgorithm.maximumDerivedByteCount
        else {
            throw .parameter("The requested size of the derived key is missing or out of range.")
        }
        return count
    }
}

extension AsymmetricPrivateKey {
    /// The shared secret, or the key derived from it.
    ///
    /// - Throws: `parameter` if the keys differ in kind or curve, if their kind doesn't support key
    ///   agreement, if the peer's X25519 key has low order, or if the algorithm includes a key
    ///   derivation and the requested size is missing or out of range.
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
            throw .parameter("The two keys have different kinds or curves.")
        }
        do {
            switch (key, peer.key) {
            case (.elliptic(let own), .elliptic(let other)):
                return try own.agree(with: other.point)
            case (.x25519(let own), .x25519(let other)):
                let secret = try own.sharedSecretFromKeyAgreement(with: other).bytes
                // RFC 7748, section 6.1: a public key of low order gives an all-zero secret, which
                // an attacker knows. The library accepts such a key. The check is constant time.
                guard secret.reduce(0, |) != 0 else {
                    throw KeyOperationFailure.parameter("The peer's public key has low order.")
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
