// SecureEnclaveKey: keys that hardware makes and keeps.

package import FoundationEssentials

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
package struct SecureEnclaveKey: Hashable, Sendable {
    /// What the keychain and its hardware use the key by, encrypted. Of no use elsewhere.
    package var blob: Data
    /// 04 ‖ X ‖ Y, 65 bytes.
    package var publicKey: Data

    package init(blob: Data, publicKey: Data) {
        self.blob = blob
        self.publicKey = publicKey
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
    /// The tokens whose keys are made in this keychain's hardware: Apple's Secure Enclave, and the
    /// key store's variant of it.
    package static let secureEnclaveTokens = ["com.apple.setoken", "com.apple.setoken:aks"]

    /// Whether these are attributes of a key in this keychain's hardware.
    package var nameSecureEnclave: Bool {
        guard let token = self[.tokenID] else { return false }
        return Self.secureEnclaveTokens.contains { token.isEqual(to: .string($0)) }
    }
}
