// CaptureDevice: registers this device and encrypts what it captures. Nothing here needs a
// network.

public import Foundation
import Keychain
import KeychainCryptoKit

/// The device that captures.
public struct CaptureDevice: Sendable {
    /// What the key that attests the device is called in the Secure Enclave.
    static let attestationKeyName = "rial.attestation.key"

    private let keychain: KeychainService
    private let crypto = CryptoService()

    /// The device whose keys a service keeps.
    public init(keychain: KeychainService) {
        self.keychain = keychain
    }

    /// Registers the device or, if it is registered, does nothing.
    ///
    /// If it was stopped half-way before, it goes on with the identifier that was made then. If two
    /// processes do this at once, both get the same state.
    ///
    /// - Parameters:
    ///   - model: What the device is called.
    ///   - hasLidar: Whether it measures depth.
    ///   - date: The time of the registration.
    /// - Returns: The state that is in the keychain.
    /// - Throws: `KeychainError`. A stored state that can't be decoded (reason `decodingFailed`)
    ///   is never replaced by a new one.
    public func register(
        model: String, hasLidar: Bool, at date: Date = Date()
    ) throws -> DeviceState {
        try keychain.loadDeviceState(orAdd: {
            let attestationKeyId = try makeAttestationKey()
            return DeviceState(
                deviceId: try keychain.loadDeviceId(orAdd: { UUID() }),
                attestationKeyId: attestationKeyId,
                attestationLevel: attestationKeyId == nil ? .unverified : .secureEnclave,
                hasLidar: hasLidar, deviceModel: model, registeredAt: date)
        })
    }

    /// Encrypts a capture with the key of this device, which is made at the first time.
    ///
    /// - Returns: nonce ‖ ciphertext ‖ tag, 28 bytes more than the capture.
    /// - Throws: `KeychainError` of loading or saving the key.
    public func seal(_ capture: Data) throws -> Data {
        let key = try keychain.loadSymmetricKey(
            forKey: KeychainService.Account.encryptionKey, orAdd: crypto.generateKey)
        return try crypto.encrypt(capture, using: key)
    }

    /// Decrypts what ``seal(_:)`` gave.
    ///
    /// - Returns: The capture.
    /// - Throws: `KeychainError` with reason `itemNotFound` if this device has no key,
    ///   `invalidData` if the bytes were altered or are of another device, or one of loading the
    ///   key.
    public func open(_ sealed: Data) throws -> Data {
        let account = KeychainService.Account.encryptionKey
        guard let key = try keychain.loadSymmetricKey(forKey: account) else {
            throw keychain.notFound(account)
        }
        return try crypto.decrypt(sealed, using: key)
    }

    /// The identifier of a key in the Secure Enclave, the hash of its public key; nil if there is no
    /// Secure Enclave to make it in.
    private func makeAttestationKey() throws -> String? {
        do {
            let key = try attestationKey()
            let identifier = Data(SHA256.hash(data: key.x963Representation)).base64EncodedString()
            try keychain.saveAttestationKeyId(identifier)
            return identifier
        } catch KeychainError.Code.secureEnclaveUnavailable {
            return nil
        }
    }

    /// The public key of this device's attestation key, which is made where there is none. A
    /// registration that was stopped left one, or another process makes one at the same time.
    private func attestationKey() throws -> P256.Signing.PublicKey {
        let name = Self.attestationKeyName
        if let key = try keychain.loadSecureEnclaveKey(named: name) { return key.publicKey }
        do {
            return try keychain.createSecureEnclaveKey(named: name)
        } catch KeychainError.Code.duplicateItem {
            guard let key = try keychain.loadSecureEnclaveKey(named: name) else {
                throw keychain.notFound(name)
            }
            return key.publicKey
        }
    }
}
