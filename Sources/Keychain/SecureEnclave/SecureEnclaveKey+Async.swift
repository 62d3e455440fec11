// Keys of the Secure Enclave, asynchronously: hardware takes its time, and so do people.

public import Crypto
public import Foundation

extension Keychain {
    /// Whether there is a Secure Enclave, without blocking the caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func hasSecureEnclave() async throws -> Bool {
        try await BlockingPool.shared.run { try hasSecureEnclave() }
    }

    /// Makes a key in the Secure Enclave, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func createSecureEnclaveKey(
        _ name: String, accessibility: Accessibility? = nil, accessControl: AccessControl? = nil
    ) async throws -> SecureEnclaveKey {
        try await BlockingPool.shared.run {
            try createSecureEnclaveKey(
                name, accessibility: accessibility, accessControl: accessControl)
        }
    }

    /// Loads a key of the Secure Enclave without blocking the caller; nil if there is none.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func loadSecureEnclaveKey(_ name: String) async throws -> SecureEnclaveKey? {
        try await BlockingPool.shared.run { try loadSecureEnclaveKey(name) }
    }

    /// Deletes a key of the Secure Enclave without blocking the caller. Deleting one that is not there
    /// succeeds.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func deleteSecureEnclaveKey(_ name: String) async throws -> Bool {
        try await BlockingPool.shared.run { try deleteSecureEnclaveKey(name) }
    }
}

extension Keychain.SecureEnclaveKey {
    /// Signs data, hashed with SHA-256, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func signature(
        for data: some DataProtocol & Sendable
    ) async throws -> P256.Signing.ECDSASignature {
        try await BlockingPool.shared.run { try signature(for: data) }
    }

    /// Agrees on a secret with the owner of a public key, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func sharedSecret(
        with publicKey: P256.KeyAgreement.PublicKey
    ) async throws -> SharedSecret {
        try await BlockingPool.shared.run { try sharedSecret(with: publicKey) }
    }
}
