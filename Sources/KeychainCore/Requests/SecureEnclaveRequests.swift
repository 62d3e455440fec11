// SecureEnclaveRequests: keys that hardware makes and keeps, and what is asked of it.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// A key to make in hardware.
package struct NewSecureEnclaveKey: Hashable, Sendable {
    /// When it can be used.
    package var protection: ProtectionClass
    /// Who has to be there when it is used.
    package var constraints: AccessConstraints
    /// Holds the application password, where the constraints ask for one.
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

/// A key on P-256 that never leaves the hardware it was made in.
package struct MadeSecureEnclaveKey: Hashable, Sendable {
    /// What the keychain and its hardware use the key by, encrypted. Of no use elsewhere.
    package var blob: Data
    /// 04 ‖ X ‖ Y, 65 bytes.
    package var publicKey: Data

    package init(blob: Data, publicKey: Data) {
        self.blob = blob
        self.publicKey = publicKey
    }
}

// MARK: The requests

/// Whether this keychain has hardware that makes keys and never gives them out.
package struct HasSecureEnclave: GeneralRequest {
    package static let code = RequestCode.hasSecureEnclave

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try executor.execute(self, as: caller)
    }
}

/// Makes a key on P-256 that never leaves the hardware. It is not stored: a program that has its blob
/// has the key, as far as its protection class and constraints allow.
///
/// `unimplemented` is thrown where there is no such hardware; no key is made in software instead.
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

/// Signs with a key in hardware, by ECDSA. The answer is r ‖ s, 64 bytes.
///
/// `decode` is thrown for a blob that is damaged, or another keychain's or other hardware's.
package struct SignDigest: Request {
    package static let code = RequestCode.sign
    /// 32 bytes: the leftmost of a longer digest; a shorter one has zeros before it.
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

/// The key agreement of Diffie and Hellman with a key in hardware, on P-256. The answer is the x
/// coordinate of the product, 32 bytes.
///
/// `param` is thrown for what is no point of P-256.
package struct DeriveSharedSecret: Request {
    package static let code = RequestCode.sharedSecret
    /// The blob of a ``MadeSecureEnclaveKey``.
    package var key: Data
    /// The other side's: 04 ‖ X ‖ Y, 65 bytes.
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
    /// The 32 bytes that the hardware signs for a digest: a longer one is cut off, and a shorter one
    /// gets zeros in front (FIPS 186-5, section 6.4.1).
    package static func signedBytes(of digest: Data) -> Data {
        let part = digest.prefix(32)
        return Data(repeating: 0, count: 32 - part.count) + part
    }
}

extension KeychainFailure {
    package static let secureEnclaveUnavailable = KeychainFailure(
        .unimplemented,
        "This keychain has no hardware for keys, such as a TPM 2.0. `keychainctl status` says why.")

    /// No key in hardware, or one that this keychain or its hardware didn't make.
    package static let foreignSecureEnclaveKey = KeychainFailure(
        .decode,
        "The key is damaged, or it was made by another keychain or other hardware. Make a new one.",
        cause: .damage)
}

extension Attributes {
    /// The token of Apple's Secure Enclave.
    package static let secureEnclaveToken = "com.apple.setoken"

    /// The tokens whose keys are made in this keychain's hardware: Apple's Secure Enclave, and the
    /// key store's variant of it.
    package static let secureEnclaveTokens = [secureEnclaveToken, "com.apple.setoken:aks"]

    /// Whether these are attributes of a key in this keychain's hardware.
    package var nameSecureEnclave: Bool {
        guard let token = self[.tokenID] else { return false }
        return Self.secureEnclaveTokens.contains { token.isEqual(to: .string($0)) }
    }
}
