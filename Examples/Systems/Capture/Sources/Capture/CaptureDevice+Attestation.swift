// The key that attests this device: made in the Secure Enclave, it signs captures and does nothing
// else.

import CryptoKit
import Foundation
import Security

extension CaptureDevice {
    /// The name of the key in the Secure Enclave.
    public static let attestationKey = "rial.attestation.key"

    /// Signs a capture with the key of this device in the Secure Enclave.
    ///
    /// - Parameter capture: The capture, 0 bytes and up.
    /// - Returns: The signature by ECDSA on P-256 with SHA-256, in DER.
    /// - Throws: ``KeychainError/secureEnclaveUnavailable`` if the device was registered without
    ///   such a key or the hardware is gone, ``KeychainError/itemNotFound`` if it isn't registered
    ///   or its key was deleted, otherwise as `KeychainService.signature(for:using:)`.
    public func sign(_ capture: Data) throws -> Data {
        try keychain.logger.log("sign with", Self.attestationKey) {
            try keychain.signature(for: capture, using: try loadKey())
        }
    }

    /// Whether a signature is one of this device for a capture.
    ///
    /// - Parameters:
    ///   - signature: What ``sign(_:)`` returned.
    ///   - capture: The capture.
    /// - Returns: Whether it is.
    /// - Throws: As ``sign(_:)``.
    public func isValidSignature(_ signature: Data, for capture: Data) throws -> Bool {
        guard let publicKey = SecKeyCopyPublicKey(try loadKey()) else {
            throw KeychainError.unexpectedError(errSecInternalComponent)
        }
        return SecKeyVerifySignature(
            publicKey, .ecdsaSignatureMessageX962SHA256, capture as CFData, signature as CFData,
            nil)
    }

    /// Deletes the key in the Secure Enclave and the registration that goes with it. What the key
    /// signed stays valid. The identifier of the device and its encryption key stay.
    ///
    /// The registration goes first: a deletion that was stopped never leaves a device registered
    /// with a key that is gone. Do it again to finish it.
    ///
    /// - Throws: ``KeychainError/deleteFailed(_:)``; a part may be deleted.
    public func deleteAttestationKey() throws {
        try keychain.delete(forKey: KeychainService.Account.deviceState)
        try keychain.delete(forKey: KeychainService.Account.attestationKeyId)
        try keychain.deleteSecureEnclaveKey(forKey: Self.attestationKey)
    }

    /// The identifier of the key, the hash of its public half; nil if there is no Secure Enclave to
    /// make it in.
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
            // Another process was first, and the key that it made counts.
            guard let key = try keychain.loadSecureEnclaveKey(forKey: Self.attestationKey) else {
                throw KeychainError.itemNotFound
            }
            return key
        }
    }

    private func loadKey() throws -> SecKey {
        let state = try keychain.loadDeviceState()
        if state?.attestationLevel == .unverified { throw KeychainError.secureEnclaveUnavailable }
        guard let key = try keychain.loadSecureEnclaveKey(forKey: Self.attestationKey) else {
            throw KeychainError.itemNotFound
        }
        return key
    }
}
