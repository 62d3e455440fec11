// Keychain.SecureEnclaveKey: a hardware key and its operations.
//   (1) The value contains no secret: the hardware performs all operations with the private key.

public import Crypto
public import Foundation
import KeychainCore

#if !canImport(Darwin)
import KeychainCrypto
#endif

extension Keychain {
    /// A P-256 private key that never leaves the Secure Enclave.
    ///
    /// Create a key with `createSecureEnclaveKey(_:accessibility:accessControl:)`, or load one with
    /// `loadSecureEnclaveKey(_:)`. A key can be used concurrently by many threads and tasks.
    public struct SecureEnclaveKey: Sendable {
        /// The name of the key.
        public let name: String

        /// The public key for verifying signatures.
        public let publicKey: P256.Signing.PublicKey

        /// The public key for key agreement.
        public let agreementPublicKey: P256.KeyAgreement.PublicKey

        /// The blob by which the keychain identifies the key.
        private let blob: Data
        private let keychain: Keychain

        init(_ blob: Data, name: String, in keychain: Keychain) throws(KeychainError) {
            guard let key = SecureEnclaveBlob(decoding: blob)?.publicKey else {
                throw KeychainError(.damagedSecureEnclaveKey, .load, keychain.service, name)
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

        /// Signs the SHA-256 hash of data.
        ///
        /// - Parameter data: The data to sign, which may be empty.
        /// - Returns: The signature, which can be verified with ``publicKey``.
        /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of
        ///   the keychain:
        ///   - ``KeychainError/Code/interactionNotAllowed`` while the key is locked, in which case
        ///     retry after the unlock. Also if the user would have to be asked and can't be.
        ///   - ``KeychainError/Code/userCanceled`` if the user canceled the authentication.
        ///   - ``KeychainError/Code/authFailed`` if the authentication failed.
        ///   - ``KeychainError/Code/decode`` if the key is damaged, or belongs to another keychain
        ///     or other hardware.
        ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if no Secure Enclave is available.
        ///
        /// The corresponding call is `SecKeyCreateSignature`.
        public func signature(
            for data: some DataProtocol
        ) throws(KeychainError) -> P256.Signing.ECDSASignature {
            try signature(ofSigned: Data(SHA256.hash(data: data)))
        }

        /// Signs a digest that has already been computed.
        ///
        /// - Parameter digest: The digest of the data to sign.
        /// - Returns: The signature, which can be verified with ``publicKey`` for the same digest.
        /// - Throws: The same errors as the function that signs data.
        ///
        /// The corresponding call is `SecKeyCreateSignature`.
        public func signature(
            for digest: some Digest
        ) throws(KeychainError) -> P256.Signing.ECDSASignature {
            try signature(ofSigned: MadeSecureEnclaveKey.signedBytes(of: Data(digest)))
        }

        /// Computes a shared secret with the owner of a public key, who obtains the same secret
        /// from ``agreementPublicKey``.
        ///
        /// - Parameter publicKey: The other party's public key.
        /// - Returns: The shared secret, from which keys can be derived.
        /// - Throws: The same errors as the function that signs data.
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
                throw noAnswer("The hardware returned no valid shared secret.", .agree)
            }
        }

        /// Signs the 32 bytes that the hardware expects.
        private func signature(
            ofSigned bytes: Data
        ) throws(KeychainError) -> P256.Signing.ECDSASignature {
            let signature = try perform(SignDigest(bytes, with: blob), .sign)
            guard let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { throw noAnswer("The hardware returned no valid signature.", .sign) }
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
