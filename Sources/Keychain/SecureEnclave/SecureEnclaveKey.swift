// Keychain.SecureEnclaveKey: a key in hardware, and what it does.
//   (1) It holds no secret: what it does is done in the hardware.

public import Crypto
public import Foundation
import KeychainCore

#if !canImport(Darwin)
import KeychainCrypto
#endif

extension Keychain {
    /// A private key on P-256 that never leaves the Secure Enclave.
    ///
    /// Make one with `createSecureEnclaveKey(_:accessibility:accessControl:)`, or have it from
    /// `loadSecureEnclaveKey(_:)`. It may be used from many threads and tasks at once.
    public struct SecureEnclaveKey: Sendable {
        /// The name it was made under.
        public let name: String

        /// The public half, to verify its signatures.
        public let publicKey: P256.Signing.PublicKey

        /// The public half, to agree on secrets with.
        public let agreementPublicKey: P256.KeyAgreement.PublicKey

        /// What the keychain uses the key by.
        private let blob: Data
        private let keychain: Keychain

        init(_ blob: Data, name: String, in keychain: Keychain) throws(KeychainError) {
            guard let key = SecureEnclaveBlob(decoding: blob)?.publicKey else {
                throw KeychainError(.foreignSecureEnclaveKey, .load, keychain.service, name)
            }
            do {
                publicKey = try P256.Signing.PublicKey(x963Representation: key)
                agreementPublicKey = try P256.KeyAgreement.PublicKey(x963Representation: key)
            } catch {
                throw KeychainError(
                    .decode, operation: .load, service: keychain.service, account: name,
                    underlyingError: error)
            }
            self.blob = blob
            self.name = name
            self.keychain = keychain
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
        ) throws(KeychainError) -> P256.Signing.ECDSASignature {
            try signature(ofSigned: Data(SHA256.hash(data: data)))
        }

        /// Signs a digest that was computed before.
        ///
        /// - Parameter digest: The digest of what is signed.
        /// - Returns: The signature, which ``publicKey`` verifies for the same digest.
        /// - Throws: ``KeychainError`` as for data.
        ///
        /// The corresponding call is `SecKeyCreateSignature`.
        public func signature(
            for digest: some Digest
        ) throws(KeychainError) -> P256.Signing.ECDSASignature {
            try signature(ofSigned: MadeSecureEnclaveKey.signedBytes(of: Data(digest)))
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
        ) throws(KeychainError) -> SharedSecret {
            var coordinate = try perform(
                DeriveSharedSecret(of: blob, with: publicKey.x963Representation), .agree
            ).data
            defer { coordinate.resetBytes(in: coordinate.startIndex..<coordinate.endIndex) }
            do {
                return try SharedSecret(p256Coordinate: coordinate)
            } catch {
                throw noAnswer("The hardware gave no secret.", .agree)
            }
        }

        /// Signs the 32 bytes that the hardware takes.
        private func signature(
            ofSigned bytes: Data
        ) throws(KeychainError) -> P256.Signing.ECDSASignature {
            let signature = try perform(SignDigest(bytes, with: blob), .sign)
            guard let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { throw noAnswer("The hardware gave no signature.", .sign) }
            return parsed
        }

        private func noAnswer(
            _ reason: String, _ operation: KeychainError.Operation
        ) -> KeychainError {
            KeychainError(
                KeychainFailure(.internalError, reason), operation, keychain.service, name)
        }

        private func perform<R: Request>(
            _ request: R, _ operation: KeychainError.Operation
        ) throws(KeychainError) -> R.Answer {
            do {
                return try keychain.database.connection().perform(request)
            } catch {
                throw KeychainError.ofSecureEnclave(error, operation, keychain.service, name)
            }
        }
    }
}
