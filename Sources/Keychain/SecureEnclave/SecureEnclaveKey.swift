// Keychain.SecureEnclaveKey: a key in hardware, and what it does.
//   (1) It holds no secret: what it does is done in the hardware.

public import Crypto
public import Foundation
import KeychainCrypto
import KeychainCore

extension Keychain {
    /// A private key on P-256 that never leaves the Secure Enclave.
    ///
    /// Make one with `createSecureEnclaveKey(_:accessibility:condition:)`, or have it from
    /// `loadSecureEnclaveKey(_:)`. It may be used from many threads and tasks at once.
    public struct SecureEnclaveKey: Sendable {
        /// The name it was made under.
        public let name: String

        /// The public half, to verify its signatures.
        public let publicKey: P256.Signing.PublicKey

        /// The public half, to agree on secrets with.
        public let agreementPublicKey: P256.KeyAgreement.PublicKey

        private let handle: any SecureEnclaveHandle
        private let service: String

        init(
            _ handle: any SecureEnclaveHandle, name: String, service: String
        ) throws(KeychainError) {
            do {
                publicKey = try P256.Signing.PublicKey(x963Representation: handle.publicKey)
                agreementPublicKey = try P256.KeyAgreement.PublicKey(
                    x963Representation: handle.publicKey)
            } catch {
                throw KeychainError(
                    .decode, operation: .load, service: service, account: name,
                    underlyingError: error)
            }
            self.handle = handle
            self.name = name
            self.service = service
        }

        /// Signs data, hashed with SHA-256.
        ///
        /// - Parameter data: What is signed, 0 bytes and up.
        /// - Returns: The signature, which ``publicKey`` verifies.
        /// - Throws: ``KeychainError``, with code
        ///   - ``KeychainError/Code/interactionNotAllowed`` while the key is locked, or a person
        ///     would have to be asked and can't be: try again after unlock;
        ///   - ``KeychainError/Code/userCanceled``, ``KeychainError/Code/authFailed`` if the person
        ///     declined, or couldn't prove who they are;
        ///   - ``KeychainError/Code/decode`` if the key is damaged or the hardware another one;
        ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if the hardware is gone.
        ///
        /// The corresponding call is `SecKeyCreateSignature`.
        public func signature(
            for data: some DataProtocol
        ) throws -> P256.Signing.ECDSASignature {
            try signature(Data(data), isDigest: false)
        }

        /// Signs a digest that was computed before.
        ///
        /// - Parameter digest: The digest of what is signed.
        /// - Returns: The signature, which ``publicKey`` verifies for the same digest.
        /// - Throws: ``KeychainError`` as for data.
        ///
        /// The corresponding call is `SecKeyCreateSignature`.
        public func signature(for digest: some Digest) throws -> P256.Signing.ECDSASignature {
            try signature(Data(digest), isDigest: true)
        }

        /// Agrees on a secret with the owner of a public key, who gets the same one with
        /// ``agreementPublicKey``.
        ///
        /// - Parameter publicKey: The other side's key.
        /// - Returns: The secret, from which keys can be derived.
        /// - Throws: ``KeychainError`` as for signing.
        ///
        /// The corresponding call is `SecKeyCopyKeyExchangeResult`.
        public func sharedSecret(
            with publicKey: P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            var coordinate: Data
            do {
                coordinate = try handle.agree(with: publicKey.x963Representation)
            } catch {
                throw KeychainError.ofSecureEnclave(error, .agree, service, name)
            }
            defer { coordinate.resetBytes(in: coordinate.startIndex..<coordinate.endIndex) }
            return try SharedSecret(p256Coordinate: coordinate)
        }

        private func signature(
            _ input: Data, isDigest: Bool
        ) throws -> P256.Signing.ECDSASignature {
            let signature: Data
            do {
                signature = try handle.sign(input, isDigest: isDigest)
            } catch {
                throw KeychainError.ofSecureEnclave(error, .sign, service, name)
            }
            return try P256.Signing.ECDSASignature(derRepresentation: signature)
        }
    }

    /// Who has to be there when a key is used. More conditions can be added.
    public struct UseCondition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The condition in a word.
        public let rawValue: String

        /// A condition of that name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// No person: the accessibility alone decides.
        public static let none = UseCondition(rawValue: "none")
        /// A person who knows the passcode, or whom biometric hardware recognizes.
        public static let userPresence = UseCondition(rawValue: "userPresence")
        /// A person who knows the passcode.
        public static let devicePasscode = UseCondition(rawValue: "devicePasscode")
        /// A person whom biometric hardware recognizes.
        public static let biometryAny = UseCondition(rawValue: "biometryAny")
        /// A person who was enrolled when the key was made, as long as the enrollment is the same.
        public static let biometryCurrentSet = UseCondition(rawValue: "biometryCurrentSet")

        /// The raw value.
        public var description: String { rawValue }
    }
}
