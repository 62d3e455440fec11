// SecureEnclave.P256.KeyAgreement.PrivateKey: a key in hardware that agrees on secrets.

#if !canImport(Darwin)

public import Crypto
public import Foundation
public import KeychainAuthentication
import KeychainCrypto
import KeychainCore
public import KeychainServices

extension SecureEnclave.P256.KeyAgreement {
    /// A private key in hardware that agrees on secrets. Nothing stores it: keep its
    /// ``dataRepresentation``.
    ///
    /// It corresponds to the structure of the same name.
    public struct PrivateKey: Sendable {
        private let key: EnclaveKey
        /// The public half, for the other side.
        public let publicKey: Crypto.P256.KeyAgreement.PublicKey

        private init(_ key: EnclaveKey) throws {
            self.key = key
            publicKey = try Crypto.P256.KeyAgreement.PublicKey(
                x963Representation: key.blob.publicKey)
        }

        /// Makes a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: As for ``SecureEnclave/P256/Signing/PrivateKey``.
        ///   - accessControl: As there.
        ///   - authenticationContext: As there.
        /// - Throws: ``SecureEnclaveFailure`` as there.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl? = nil,
            authenticationContext: LAContext? = nil
        ) throws {
            let key = try EnclaveKey(
                compactRepresentable: compactRepresentable, accessControl, authenticationContext)
            try self.init(key)
        }

        /// A key that was made before.
        ///
        /// - Parameters:
        ///   - dataRepresentation: Its data representation.
        ///   - authenticationContext: As for a new key.
        /// - Throws: ``SecureEnclaveFailure`` with `errSecDecode` for other bytes.
        public init(
            dataRepresentation: Data, authenticationContext: LAContext? = nil
        ) throws {
            try self.init(
                EnclaveKey(dataRepresentation: dataRepresentation, authenticationContext))
        }

        /// What this keychain and its hardware use the key by, encrypted. Of no use elsewhere.
        public var dataRepresentation: Data { key.blob.encoded }

        /// Agrees on a secret with the owner of a public key.
        ///
        /// - Parameter publicKeyShare: The other side's key.
        /// - Returns: The secret, from which keys can be derived.
        /// - Throws: ``SecureEnclaveFailure`` as for
        ///   the signing key's `signature(for:)`.
        public func sharedSecretFromKeyAgreement(
            with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            var coordinate = try key.agree(with: publicKeyShare.x963Representation)
            defer { coordinate.resetBytes(in: coordinate.startIndex..<coordinate.endIndex) }
            return try SharedSecret(p256Coordinate: coordinate)
        }
    }
}

#endif
