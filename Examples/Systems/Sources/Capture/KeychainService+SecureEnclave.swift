// Keys of the Secure Enclave, by name. Where there is none, no software key takes its place: a caller
// that gets a key may rely on its never leaving the hardware.

public import Keychain
public import KeychainCryptoKit

extension KeychainService {
    /// Makes a key pair in the Secure Enclave: P-256, bound to this device, not extractable, kept
    /// until it is deleted. It can be used after the first unlock.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: Its public key.
    /// - Throws: `KeychainError` with reason `secureEnclaveUnavailable` where there is none, or
    ///   `duplicateItem` if there is a key of this name; nothing was made.
    public func createSecureEnclaveKey(named name: String) throws -> P256.Signing.PublicKey {
        try perform("create", name) { try keychain.createSecureEnclaveKey(name).publicKey }
    }

    /// The key pair of a name in the Secure Enclave, to sign with; nil if there is none.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: The key, whose private half stays where it is.
    /// - Throws: `KeychainError` with reason `secureEnclaveUnavailable`: whether there is such a
    ///   key is unknown. Otherwise as for ``load(forKey:)``.
    public func loadSecureEnclaveKey(named name: String) throws -> Keychain.SecureEnclaveKey? {
        try perform("load", name) { try keychain.loadSecureEnclaveKey(name) }
    }

    /// Deletes a key pair of the Secure Enclave. Deleting one that isn't there succeeds.
    ///
    /// - Parameter name: The name of the key.
    /// - Throws: `KeychainError` with reason `secureEnclaveUnavailable` or `deleteFailed`; nothing was
    ///   deleted.
    public func deleteSecureEnclaveKey(named name: String) throws {
        try perform("delete", name) { _ = try keychain.deleteSecureEnclaveKey(name) }
    }
}
