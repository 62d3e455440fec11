// SecureEnclaveRequests: hardware keys, and requests for their creation and use.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// The parameters of a hardware key to create.
package struct NewSecureEnclaveKey: Hashable, Sendable {
    /// When the key can be used.
    package var protection: ProtectionClass
    /// The conditions for each use of the key, such as presence.
    package var constraints: AccessConstraints
    /// Contains the application password and the biometric enrollment, if the constraints require
    /// them.
    package var authorization: Authorization

    package init(
        protection: ProtectionClass = .whenUnlocked, constraints: AccessConstraints = [],
        authorization: Authorization = Authorization()
    ) {
        self.protection = protection
        self.constraints = constraints
        self.authorization = authorization
    }
}

/// A P-256 key that never leaves the hardware that created it.
package struct MadeSecureEnclaveKey: Hashable, Sendable {
    /// The key in wrapped form. Only this keychain, with its hardware, can use it.
    package var blob: Data
    /// 04 ‖ X ‖ Y, 65 bytes.
    package var publicKey: Data

    package init(blob: Data, publicKey: Data) {
        self.blob = blob
        self.publicKey = publicKey
    }
}

// MARK: The requests

/// Returns whether this keychain has hardware that creates keys and never reveals them.
package struct HasSecureEnclave: GeneralRequest {
    package static let code = RequestCode.hasSecureEnclave

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try executor.execute(self, as: caller)
    }
}

/// Creates a P-256 key that never leaves the hardware. The keychain doesn't store it: a program
/// that has the blob can use the key, within its protection class and constraints.
///
/// Throws `unimplemented` if there is no such hardware. The key is never created in software
/// instead.
package struct MakeSecureEnclaveKey: Request {
    package static let code = RequestCode.makeSecureEnclaveKey
    package var key: NewSecureEnclaveKey

    package init(_ key: NewSecureEnclaveKey) { self.key = key }

    package var authorization: Authorization {
        get { key.authorization }
        set { key.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { .creation }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> MadeSecureEnclaveKey {
        try executor.execute(self, as: caller)
    }
}

/// Signs a digest with a hardware key, with ECDSA. The answer is r ‖ s, 64 bytes.
///
/// Throws `decode` if the blob is damaged or belongs to another keychain or other hardware,
/// `authFailed` if its access control lacks `privateKeyUsage` or the application password is wrong,
/// `authenticationNeeded` if the proofs don't satisfy its constraints, `interactionNotAllowed` if
/// its class is locked, `param` if the digest doesn't have 32 bytes, and `unimplemented` if there
/// is no hardware.
package struct SignDigest: Request {
    package static let code = RequestCode.sign
    /// 32 bytes: the leftmost bytes of a longer digest, or a shorter digest with leading zeros.
    package var digest: Data
    /// The blob of a ``MadeSecureEnclaveKey``.
    package var key: Data
    package var authorization: Authorization

    package init(_ digest: Data, with key: Data, authorization: Authorization = Authorization()) {
        self.digest = digest
        self.key = key
        self.authorization = authorization
    }

    package var purpose: AuthorizationPurpose? { .use }

    package func usedUnlockedKeys(_ answer: Data) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try executor.execute(self, as: caller)
    }
}

/// Performs Diffie-Hellman key agreement on P-256 with a hardware key. The answer is the x
/// coordinate of the shared point, 32 bytes.
///
/// Throws `param` if the public key is not a point on P-256, and otherwise the same errors as
/// ``SignDigest``.
package struct DeriveSharedSecret: Request {
    package static let code = RequestCode.sharedSecret
    /// The blob of a ``MadeSecureEnclaveKey``.
    package var key: Data
    /// The peer's public key: 04 ‖ X ‖ Y, 65 bytes.
    package var publicKey: Data
    package var authorization: Authorization

    package init(
        of key: Data, with publicKey: Data, authorization: Authorization = Authorization()
    ) {
        self.key = key
        self.publicKey = publicKey
        self.authorization = authorization
    }

    package var purpose: AuthorizationPurpose? { .use }

    package func usedUnlockedKeys(_ answer: SecretBytes) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecretBytes {
        try executor.execute(self, as: caller)
    }
}

extension MadeSecureEnclaveKey {
    /// The 32 bytes that the hardware signs for a digest: a longer digest is truncated, and a
    /// shorter one gets leading zeros (FIPS 186-5, section 6.4.1).
    package static func signedBytes(of digest: Data) -> Data {
        let part = digest.prefix(32)
        return Data(repeating: 0, count: 32 - part.count) + part
    }
}

extension KeychainFailure {
    package static let secureEnclaveUnavailable = KeychainFailure(
        .unimplemented,
        "This keychain has no hardware for keys, such as a TPM 2.0. Run `keychainctl status` for "
            + "the reason.")

    /// The error for bytes that are not a hardware key.
    package static let damagedSecureEnclaveKey = KeychainFailure(
        .decode, "The data is not a hardware key, or it is damaged. Create a new key.",
        cause: .damage)

    /// The error for a hardware key that doesn't open in this keychain or with this hardware. Its
    /// format is right, so it is more likely foreign than damaged.
    package static let foreignSecureEnclaveKey = KeychainFailure(
        .decode,
        "The key was created by another keychain or other hardware, or it is damaged. Create a "
            + "new one.",
        cause: .otherMachine)
}

extension Attributes {
    /// The token identifier of Apple's Secure Enclave.
    package static let secureEnclaveToken = "com.apple.setoken"

    /// The token identifiers whose keys are created in this keychain's hardware: those of Apple's
    /// Secure Enclave and of AppleKeyStore.
    package static let secureEnclaveTokens = [secureEnclaveToken, "com.apple.setoken:aks"]

    /// Whether these are the attributes of a key in this keychain's hardware.
    package var nameSecureEnclave: Bool {
        guard let token = self[.tokenID] else { return false }
        return Self.secureEnclaveTokens.contains { token.isEqual(to: .string($0)) }
    }
}
