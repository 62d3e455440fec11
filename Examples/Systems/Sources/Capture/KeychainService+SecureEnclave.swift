// Keys of the Secure Enclave, by name. There is none here yet, and no software key in its place:
// a caller that gets a key may rely on its never leaving the hardware.

import Keychain
public import KeychainCryptoKit

extension KeychainService {
    /// Makes a key pair in the Secure Enclave: P-256, bound to this device, not extractable.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: Its public key.
    /// - Throws: `KeychainError` with reason `secureEnclaveUnavailable`; nothing was made.
    public func createSecureEnclaveKey(named name: String) throws -> P256.Signing.PublicKey {
        try perform("create", name) { throw Self.secureEnclaveUnavailable(.save, name) }
    }

    /// The public key of a pair in the Secure Enclave; nil if there is none of this name.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: Its public key.
    /// - Throws: `KeychainError` with reason `secureEnclaveUnavailable`: whether there is such a
    ///   key is unknown.
    public func loadSecureEnclaveKey(named name: String) throws -> P256.Signing.PublicKey? {
        try perform("load", name) { throw Self.secureEnclaveUnavailable(.load, name) }
    }

    /// Deletes a key pair of the Secure Enclave.
    ///
    /// - Parameter name: The name of the key.
    /// - Throws: `KeychainError` with reason `secureEnclaveUnavailable`; nothing was deleted.
    public func deleteSecureEnclaveKey(named name: String) throws {
        try perform("delete", name) { throw Self.secureEnclaveUnavailable(.delete, name) }
    }

    private static func secureEnclaveUnavailable(
        _ operation: KeychainError.Operation, _ name: String
    ) -> KeychainError {
        KeychainError(
            .secureEnclaveUnavailable, operation: operation, service: service, account: name)
    }
}
