// SecureEnclave.P256.Signing.PrivateKey: a key in hardware that signs.

#if !canImport(Darwin)

public import Crypto
public import Foundation
public import KeychainAuthentication
import KeychainCore
import KeychainCore
public import KeychainServices

extension SecureEnclave.P256.Signing {
    /// A private key in hardware that signs. Nothing stores it: keep its ``dataRepresentation``.
    ///
    /// It corresponds to the structure of the same name.
    public struct PrivateKey: Sendable {
        private let key: EnclaveKey
        /// The public half, which verifies the signatures.
        public let publicKey: Crypto.P256.Signing.PublicKey

        private init(_ key: EnclaveKey) throws {
            self.key = key
            publicKey = try Crypto.P256.Signing.PublicKey(x963Representation: key.blob.publicKey)
        }

        /// Makes a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: Whether the public half has to have a compact representation.
        ///     Half of all keys have one, so keys are made until one has.
        ///   - accessControl: When and by whom it can be used; it has to have `privateKeyUsage`. nil:
        ///     while the device is unlocked, and by any person.
        ///   - authenticationContext: What authenticates the uses of the key. nil: the person is asked
        ///     where that is needed.
        /// - Throws: ``SecureEnclaveFailure``: `errSecUnimplemented` where there is no hardware,
        ///   `errSecInteractionNotAllowed` while keys of this accessibility are locked,
        ///   `errSecAuthFailed` where the access control needs a passcode and there is none, or any
        ///   status of the keychain.
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
        /// - Throws: ``SecureEnclaveFailure`` with `errSecDecode` for other bytes. Whether the key is
        ///   this hardware's shows at its first use.
        public init(
            dataRepresentation: Data, authenticationContext: LAContext? = nil
        ) throws {
            try self.init(
                EnclaveKey(dataRepresentation: dataRepresentation, authenticationContext))
        }

        /// What this keychain and its hardware use the key by, encrypted. Of no use elsewhere.
        public var dataRepresentation: Data { key.blob.encoded }

        /// Signs a digest.
        ///
        /// - Parameter digest: The digest of what is signed.
        /// - Returns: The signature.
        /// - Throws: ``SecureEnclaveFailure``: `errSecInteractionNotAllowed` while the key is locked or
        ///   no person can be asked, `errSecUserCanceled` and `errSecAuthFailed` where the person
        ///   declined or wasn't recognized, `errSecDecode` where the hardware is another one.
        public func signature(
            for digest: some Digest
        ) throws -> Crypto.P256.Signing.ECDSASignature {
            try Crypto.P256.Signing.ECDSASignature(
                rawRepresentation: key.sign(
                    digest: MadeSecureEnclaveKey.signedBytes(of: Data(digest))))
        }

        /// Signs data, hashed with SHA-256.
        ///
        /// - Parameter data: What is signed, 0 bytes and up.
        /// - Returns: The signature.
        /// - Throws: ``SecureEnclaveFailure`` as for a digest.
        public func signature(
            for data: some DataProtocol
        ) throws -> Crypto.P256.Signing.ECDSASignature {
            try signature(for: SHA256.hash(data: data))
        }
    }
}

#endif
