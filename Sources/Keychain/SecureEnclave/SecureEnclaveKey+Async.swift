// SecureEnclaveKey+Async: the asynchronous forms of the operations on Secure Enclave keys, except
// for signing a digest. They exist because the hardware is slow and the user may have to be asked.

public import Crypto
public import Foundation

extension Keychain {
    /// Checks whether a Secure Enclave is available, without blocking the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func hasSecureEnclave() async throws -> Bool {
        try await BlockingPool.shared.run { try hasSecureEnclave() }
    }

    /// Creates a key in the Secure Enclave, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func createSecureEnclaveKey(
        _ name: String, accessibility: Accessibility? = nil, accessControl: AccessControl? = nil
    ) async throws -> SecureEnclaveKey {
        try await BlockingPool.shared.run {
            try createSecureEnclaveKey(
                name, accessibility: accessibility, accessControl: accessControl)
        }
    }

    /// Loads a Secure Enclave key, or returns `nil` if none exists, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func loadSecureEnclaveKey(_ name: String) async throws -> SecureEnclaveKey? {
        try await BlockingPool.shared.run { try loadSecureEnclaveKey(name) }
    }

    /// Deletes a Secure Enclave key without blocking the caller. Deleting a key that does not exist
    /// succeeds.
    ///
    /// - Returns: `true` if the key existed.
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func deleteSecureEnclaveKey(_ name: String) async throws -> Bool {
        try await BlockingPool.shared.run { try deleteSecureEnclaveKey(name) }
    }
}

extension Keychain.SecureEnclaveKey {
    /// Signs the SHA-256 hash of data, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func signature(
        for data: some DataProtocol & Sendable
    ) async throws -> P256.Signing.ECDSASignature {
        try await BlockingPool.shared.run { try signature(for: data) }
    }

    /// Computes a shared secret with the owner of a public key, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func sharedSecret(
        with publicKey: P256.KeyAgreement.PublicKey
    ) async throws -> SharedSecret {
        try await BlockingPool.shared.run { try sharedSecret(with: publicKey) }
    }
}
