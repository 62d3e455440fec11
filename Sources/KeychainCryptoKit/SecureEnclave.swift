// SecureEnclave: keys in hardware in the shape of Apple's framework for cryptography.
//   (1) A key is not stored anywhere: a program that keeps its data representation keeps the key.
//       The data are of use to this keychain with its hardware alone.

#if !canImport(Darwin)

public import Crypto
public import Foundation
public import KeychainAuthentication
import KeychainCore
import KeychainCrypto
import KeychainRuntime
public import KeychainServices

/// Keys that hardware makes and never gives out.
///
/// On Linux the hardware is a TPM 2.0. Nothing here is kept by the keychain: save a key's data
/// representation, for instance as an item. To have keys by name, use `createSecureEnclaveKey` of the
/// module `Keychain`.
///
/// It corresponds to the enumeration of the same name.
public enum SecureEnclave {
    /// Whether there is such hardware. Also false where the keychain can't be used at all.
    public static var isAvailable: Bool {
        (try? KeychainContext.current().handler.perform(HasSecureEnclave())) ?? false
    }

    /// Keys on P-256, the only ones that the hardware has.
    public enum P256 {
        /// Keys that sign.
        public enum Signing {}
        /// Keys that agree on secrets.
        public enum KeyAgreement {}
    }
}

// MARK: - Keys that sign

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

// MARK: - Keys that agree on secrets

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

// MARK: - What both kinds have in common

/// A key in hardware, with the person who authenticates its uses in front of the keychain.
struct EnclaveKey: Sendable {
    let blob: SecureEnclaveBlob
    private let keychain: AuthenticatingConnection

    /// Makes a key, and others where the first one isn't representable as it has to be.
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
        // A coin that falls on one side so often is no coin.
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
            KeychainFailure(.internalError, "The hardware makes no representable keys."))
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
        else { throw .foreignSecureEnclaveKey }
        self.blob = parsed
        self.keychain = keychain
    }

    /// - Returns: r ‖ s.
    func sign(digest: Data) throws(SecureEnclaveFailure) -> Data {
        try Self.result { () throws(KeychainFailure) in
            try keychain.perform(
                SignDigest(digest, with: blob.encoded, authorization: Authorization()))
        }
    }

    /// The x coordinate of the product.
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

/// Why a key in hardware was not made or used.
///
/// As an `NSError` it is of the domain `NSOSStatusErrorDomain` and has the status as its code, such as
/// `errSecUnimplemented` where there is no hardware.
public struct SecureEnclaveFailure: Error, CustomNSError, LocalizedError, Hashable, Sendable {
    private let failure: KeychainFailure

    init(_ failure: KeychainFailure) {
        self.failure = failure
    }

    /// The status, an `errSec…` code.
    public var status: OSStatus { failure.status.rawValue }

    /// The domain of statuses.
    public static var errorDomain: String { NSOSStatusErrorDomain }

    /// The status.
    public var errorCode: Int { Int(status) }

    /// What happened and what to do next. Nothing secret.
    public var errorDescription: String? { failure.reason }
}

#endif
