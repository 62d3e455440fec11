// CaptureDevice+Attestation: the key that attests this device. The key is created in the Secure
// Enclave and is used only to sign.

import CryptoKit
import Foundation
import Security

extension CaptureDevice {
    /// The name of the key in the Secure Enclave.
    public static let attestationKey = "rial.attestation.key"

    /// Signs a capture with this device's key in the Secure Enclave.
    ///
    /// - Parameter capture: The capture, which may be empty.
    /// - Returns: The signature, ECDSA on P-256 with SHA-256, in DER.
    /// - Throws: ``KeychainError/secureEnclaveUnavailable`` if the device was registered without
    ///   this key or the hardware is no longer available. ``KeychainError/itemNotFound`` if the
    ///   device isn't registered or the key was deleted. An interrupted registration or deletion
    ///   can leave a key without a registration: this method doesn't use that key. Otherwise the
    ///   errors of loading the registration or the key, or of
    ///   `KeychainService.signature(for:using:)`.
    public func sign(_ capture: Data) throws -> Data {
        try keychain.logger.log("sign with", Self.attestationKey) {
            try keychain.signature(for: capture, using: try loadKey())
        }
    }

    /// Checks whether a signature is this device's signature of a capture.
    ///
    /// - Parameters:
    ///   - signature: The result of ``sign(_:)``.
    ///   - capture: The capture.
    /// - Returns: `true` if the signature is valid.
    /// - Throws: The errors of loading the registration and the key, as ``sign(_:)`` throws them.
    ///   ``KeychainError/unexpectedError(_:)`` if the key has no public key.
    public func isValidSignature(_ signature: Data, for capture: Data) throws -> Bool {
        guard let publicKey = SecKeyCopyPublicKey(try loadKey()) else {
            throw KeychainError.unexpectedError(errSecInternalComponent)
        }
        return SecKeyVerifySignature(
            publicKey, .ecdsaSignatureMessageX962SHA256, capture as CFData, signature as CFData,
            nil)
    }

    /// Deletes the key in the Secure Enclave and the registration that depends on it. Existing
    /// signatures stay valid. The device's identifier and encryption key are kept.
    ///
    /// The registration is deleted first, so an interrupted deletion never leaves a device
    /// registered with a deleted key. Call this method again to complete the deletion.
    ///
    /// - Throws: ``KeychainError/deleteFailed(_:)``. Some of the items may have been deleted.
    public func deleteAttestationKey() throws {
        try keychain.delete(forKey: KeychainService.Account.deviceState)
        try keychain.delete(forKey: KeychainService.Account.attestationKeyId)
        try keychain.deleteSecureEnclaveKey(forKey: Self.attestationKey)
    }

    /// Loads the key or, if none exists, creates one, and saves the key's identifier.
    ///
    /// - Returns: The identifier, which is the SHA-256 hash of the public key in Base64, or `nil`
    ///   if there is no Secure Enclave.
    func loadOrMakeAttestationKey() throws -> String? {
        let key: SecKey
        do {
            key = try keychain.loadSecureEnclaveKey(forKey: Self.attestationKey) ?? makeKey()
        } catch KeychainError.secureEnclaveUnavailable {
            return nil
        }
        let publicKey = try keychain.publicKeyData(of: key)
        let identifier = Data(SHA256.hash(data: publicKey)).base64EncodedString()
        try keychain.saveAttestationKeyId(identifier)
        return identifier
    }

    private func makeKey() throws -> SecKey {
        do {
            return try keychain.createSecureEnclaveKey(forKey: Self.attestationKey)
        } catch KeychainError.duplicateItem {
            // Another process created the key first, so this process uses that key.
            guard let key = try keychain.loadSecureEnclaveKey(forKey: Self.attestationKey) else {
                throw KeychainError.itemNotFound
            }
            return key
        }
    }

    private func loadKey() throws -> SecKey {
        guard let state = try keychain.loadDeviceState() else { throw KeychainError.itemNotFound }
        if state.attestationLevel == .unverified { throw KeychainError.secureEnclaveUnavailable }
        guard let key = try keychain.loadSecureEnclaveKey(forKey: Self.attestationKey) else {
            throw KeychainError.itemNotFound
        }
        return key
    }
}
