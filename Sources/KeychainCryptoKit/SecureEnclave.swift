// SecureEnclave: hardware keys with the API of Apple's CryptoKit.
//   (1) Keys are not stored: a program keeps a key by keeping its data representation. The data can
//       be used only with this keychain and its hardware.

#if !canImport(Darwin)

public import Crypto
public import Foundation
public import KeychainAuthentication
import KeychainCore
import KeychainCrypto
import KeychainRuntime
public import KeychainServices

/// Keys that are generated in hardware and never leave it.
///
/// On Linux, the hardware is a TPM 2.0. The keychain does not store these keys: save a key's data
/// representation, for example as an item. To use keys by name, use `createSecureEnclaveKey` of the
/// module `Keychain`.
///
/// This type corresponds to the enumeration of the same name in CryptoKit.
public enum SecureEnclave {
    /// Whether the hardware is available. Also `false` if the keychain can't be used.
    public static var isAvailable: Bool {
        (try? KeychainContext.current().handler.perform(HasSecureEnclave())) ?? false
    }

    /// P-256 keys, the only type of key that this package creates in the hardware.
    public enum P256 {
        /// Keys for signing.
        public enum Signing {}
        /// Keys for key agreement.
        public enum KeyAgreement {}
    }
}

// MARK: - Signing

extension SecureEnclave.P256.Signing {
    /// A private key for signing in hardware. It is not stored: keep its ``dataRepresentation``.
    ///
    /// This type corresponds to the structure of the same name in CryptoKit.
    public struct PrivateKey: Sendable {
        private let key: EnclaveKey
        /// The public key, which verifies the signatures.
        public let publicKey: Crypto.P256.Signing.PublicKey

        private init(_ key: EnclaveKey) throws {
            self.key = key
            publicKey = try Crypto.P256.Signing.PublicKey(x963Representation: key.blob.publicKey)
        }

        /// Creates a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: Whether the public key must have a compact representation.
        ///     Half of all keys have one, so keys are generated until one is suitable.
        ///   - accessControl: The conditions for using the key. A key whose access control lacks
        ///     `privateKeyUsage` can be created but not used. If `nil`, the key can be used while
        ///     the keychain is unlocked, without authentication.
        ///   - authenticationContext: The context that authenticates the creation and the uses of
        ///     the key. If `nil`, the creation and each use have a context of their own. The user
        ///     is asked when necessary.
        /// - Throws: ``SecureEnclaveFailure`` with `errSecUnimplemented` if the hardware is not
        ///   available, `errSecInteractionNotAllowed` while keys with the accessibility of the new
        ///   key are locked, `errSecAuthFailed` if the access control requires a passcode and none
        ///   is set, or any other status of the keychain.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl? = nil,
            authenticationContext: LAContext? = nil
        ) throws {
            let key = try EnclaveKey(
                compactRepresentable: compactRepresentable, accessControl, authenticationContext)
            try self.init(key)
        }

        /// Recreates a key from its data representation.
        ///
        /// - Parameters:
        ///   - dataRepresentation: The data representation of the key.
        ///   - authenticationContext: The context that authenticates uses of the key, as for a new
        ///     key.
        /// - Throws: ``SecureEnclaveFailure`` with `errSecDecode` if the bytes are not a data
        ///   representation, or any other status if the keychain can't be used. Whether the key
        ///   belongs to this keychain and its hardware is determined at its first use.
        public init(
            dataRepresentation: Data, authenticationContext: LAContext? = nil
        ) throws {
            try self.init(
                EnclaveKey(dataRepresentation: dataRepresentation, authenticationContext))
        }

        /// The key in encrypted form. Only this keychain, with its hardware, can use it.
        public var dataRepresentation: Data { key.blob.encoded }

        /// Signs a digest.
        ///
        /// - Parameter digest: The digest of the data to sign.
        /// - Returns: The signature.
        /// - Throws: ``SecureEnclaveFailure`` with `errSecInteractionNotAllowed` while the key is
        ///   locked or if the user can't be asked, `errSecUserCanceled` if the user cancels,
        ///   `errSecAuthFailed` if the authentication fails or the access control lacks
        ///   `privateKeyUsage`, `errSecDecode` if the key is damaged or belongs to another keychain
        ///   or other hardware, or any other status of the keychain.
        public func signature(
            for digest: some Digest
        ) throws -> Crypto.P256.Signing.ECDSASignature {
            try Crypto.P256.Signing.ECDSASignature(
                rawRepresentation: key.sign(
                    digest: MadeSecureEnclaveKey.signedBytes(of: Data(digest))))
        }

        /// Signs the SHA-256 hash of data.
        ///
        /// - Parameter data: The data to sign, which may be empty.
        /// - Returns: The signature.
        /// - Throws: ``SecureEnclaveFailure`` as for the signature of a digest.
        public func signature(
            for data: some DataProtocol
        ) throws -> Crypto.P256.Signing.ECDSASignature {
            try signature(for: SHA256.hash(data: data))
        }
    }
}

// MARK: - Key agreement

extension SecureEnclave.P256.KeyAgreement {
    /// A private key for key agreement in hardware. It is not stored: keep its
    /// ``dataRepresentation``.
    ///
    /// This type corresponds to the structure of the same name in CryptoKit.
    public struct PrivateKey: Sendable {
        private let key: EnclaveKey
        /// The public key, for the peer.
        public let publicKey: Crypto.P256.KeyAgreement.PublicKey

        private init(_ key: EnclaveKey) throws {
            self.key = key
            publicKey = try Crypto.P256.KeyAgreement.PublicKey(
                x963Representation: key.blob.publicKey)
        }

        /// Creates a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: As for ``SecureEnclave/P256/Signing/PrivateKey``.
        ///   - accessControl: As for ``SecureEnclave/P256/Signing/PrivateKey``.
        ///   - authenticationContext: As for ``SecureEnclave/P256/Signing/PrivateKey``.
        /// - Throws: ``SecureEnclaveFailure`` as for ``SecureEnclave/P256/Signing/PrivateKey``.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl? = nil,
            authenticationContext: LAContext? = nil
        ) throws {
            let key = try EnclaveKey(
                compactRepresentable: compactRepresentable, accessControl, authenticationContext)
            try self.init(key)
        }

        /// Recreates a key from its data representation.
        ///
        /// - Parameters:
        ///   - dataRepresentation: The data representation of the key.
        ///   - authenticationContext: The context that authenticates uses of the key, as for a new
        ///     key.
        /// - Throws: ``SecureEnclaveFailure`` as for ``SecureEnclave/P256/Signing/PrivateKey``.
        public init(
            dataRepresentation: Data, authenticationContext: LAContext? = nil
        ) throws {
            try self.init(
                EnclaveKey(dataRepresentation: dataRepresentation, authenticationContext))
        }

        /// The key in encrypted form. Only this keychain, with its hardware, can use it.
        public var dataRepresentation: Data { key.blob.encoded }

        /// Computes a shared secret with the owner of a public key.
        ///
        /// - Parameter publicKeyShare: The peer's public key.
        /// - Returns: The shared secret, from which keys can be derived.
        /// - Throws: ``SecureEnclaveFailure`` as for the signing key's `signature(for:)`.
        public func sharedSecretFromKeyAgreement(
            with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            var coordinate = try key.agree(with: publicKeyShare.x963Representation)
            defer { coordinate.resetBytes(in: coordinate.startIndex..<coordinate.endIndex) }
            return try SharedSecret(p256Coordinate: coordinate)
        }
    }
}

// MARK: - Implementation of both key types

/// A hardware key, and a connection to the keychain that authenticates its uses.
struct EnclaveKey: Sendable {
    let blob: SecureEnclaveBlob
    private let keychain: AuthenticatingConnection

    /// Creates a key. If a compact representation is required, creates keys until one has it.
    init(
        compactRepresentable: Bool, _ accessControl: SecAccessControl?, _ context: LAContext?
    ) throws(SecureEnclaveFailure) {
        var new = NewSecureEnclaveKey(
            protection: .whenUnlockedThisDeviceOnly, constraints: .privateKeyUsage)
        if let accessControl {
            new.protection =
                ProtectionClass(code: accessControl.protection) ?? .whenUnlockedThisDeviceOnly
            new.constraints = AccessConstraints(rawValue: UInt64(accessControl.flags.rawValue))
        }
        // For a correct generator, the probability of 128 unsuitable keys in a row is negligible.
        for _ in 0..<128 {
            let made = try Self.result { [new] () throws(KeychainFailure) in
                let keychain = try Self.keychain(context)
                let key = try keychain.perform(MakeSecureEnclaveKey(new))
                return try EnclaveKey(key.blob, keychain)
            }
            if made.isCompactRepresentable || !compactRepresentable {
                self = made
                return
            }
        }
        throw SecureEnclaveFailure(
            KeychainFailure(
                .internalError, "The hardware generated no key with a compact representation."))
    }

    private var isCompactRepresentable: Bool {
        let key = try? Crypto.P256.Signing.PublicKey(x963Representation: blob.publicKey)
        return key?.compactRepresentation != nil
    }

    init(
        dataRepresentation: Data, _ context: LAContext?
    ) throws(SecureEnclaveFailure) {
        self = try Self.result { () throws(KeychainFailure) in
            try EnclaveKey(dataRepresentation, try Self.keychain(context))
        }
    }

    private init(_ blob: Data, _ keychain: AuthenticatingConnection) throws(KeychainFailure) {
        guard let parsed = SecureEnclaveBlob(decoding: blob),
            (try? Crypto.P256.Signing.PublicKey(x963Representation: parsed.publicKey)) != nil
        else { throw .damagedSecureEnclaveKey }
        self.blob = parsed
        self.keychain = keychain
    }

    /// - Returns: The signature as r ‖ s.
    func sign(digest: Data) throws(SecureEnclaveFailure) -> Data {
        try Self.result { () throws(KeychainFailure) in
            try keychain.perform(
                SignDigest(digest, with: blob.encoded, authorization: Authorization()))
        }
    }

    /// The x coordinate of the shared point.
    func agree(with publicKey: Data) throws(SecureEnclaveFailure) -> Data {
        try Self.result { () throws(KeychainFailure) in
            try keychain.perform(
                DeriveSharedSecret(
                    of: blob.encoded, with: publicKey, authorization: Authorization())
            ).data
        }
    }

    private static func keychain(
        _ context: LAContext?
    ) throws(KeychainFailure) -> AuthenticatingConnection {
        var options = AuthenticationOptions()
        options.context = context
        return try KeychainContext.current().authenticating(options)
    }

    private static func result<Value>(
        _ body: () throws(KeychainFailure) -> Value
    ) throws(SecureEnclaveFailure) -> Value {
        do {
            return try body()
        } catch {
            throw SecureEnclaveFailure(error)
        }
    }
}

/// The reason that a hardware key could not be created or used.
///
/// As an `NSError`, it is of the domain `NSOSStatusErrorDomain` and its code is the status, such as
/// `errSecUnimplemented` if the hardware is not available.
public struct SecureEnclaveFailure: Error, CustomNSError, LocalizedError, Hashable, Sendable {
    private let failure: KeychainFailure

    init(_ failure: KeychainFailure) {
        self.failure = failure
    }

    /// The status, which is an `errSec…` code.
    public var status: OSStatus { failure.status.rawValue }

    /// The domain of status codes.
    public static var errorDomain: String { NSOSStatusErrorDomain }

    /// The status.
    public var errorCode: Int { Int(status) }

    /// What happened and what to do next, without secrets.
    public var errorDescription: String? { failure.reason }
}

#endif
