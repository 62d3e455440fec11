// CaptureDevice: registers this device and encrypts its captures. It needs no network.

import CryptoKit
import Foundation

/// The device that takes captures, with its registration and its keys.
public struct CaptureDevice: Sendable {
    let keychain: KeychainService

    /// Creates a device whose keys are in a keychain.
    ///
    /// - Parameter keychain: The keychain.
    public init(keychain: KeychainService = KeychainService()) {
        self.keychain = keychain
    }

    /// Registers the device, unless it is already registered.
    ///
    /// If a registration was interrupted, the next call uses the identifier and the key that were
    /// already created. If two processes register concurrently, both receive the same state.
    ///
    /// - Parameters:
    ///   - model: The manufacturer's name of the model.
    ///   - hasLidar: Whether the device measures depth.
    ///   - date: The time of the registration.
    /// - Returns: The stored state.
    /// - Throws: ``KeychainError``. In this case, the identifier and the key may have been created.
    ///   A stored state that can't be read is never replaced.
    public func register(
        model: String, hasLidar: Bool, at date: Date = Date()
    ) throws -> DeviceState {
        try keychain.loadDeviceState {
            let attestationKeyId = try loadOrMakeAttestationKey()
            return DeviceState(
                deviceId: try keychain.loadOrMakeDeviceId(), attestationKeyId: attestationKeyId,
                attestationLevel: attestationKeyId == nil ? .unverified : .secureEnclave,
                hasLidar: hasLidar, deviceModel: model, registeredAt: date)
        }
    }

    /// Encrypts a capture with this device's encryption key. The first call creates the key.
    ///
    /// - Parameter capture: The capture, which may be empty.
    /// - Returns: nonce ‖ ciphertext ‖ tag, 28 bytes longer than the capture.
    /// - Throws: ``KeychainError`` if the key can't be loaded or added.
    public func seal(_ capture: Data) throws -> Data {
        let key = try keychain.loadOrMakeSymmetricKey(
            forKey: KeychainService.Account.encryptionKey)
        return try CryptoService.encrypt(capture, using: key)
    }

    /// Decrypts the result of ``seal(_:)``. This method never creates a key.
    ///
    /// - Parameter sealed: The sealed capture.
    /// - Returns: The capture.
    /// - Throws: ``CaptureError/encryptionKeyNotFound`` if this device has no encryption key,
    ///   ``CaptureError/captureNotAuthentic`` if the bytes were altered or another device sealed
    ///   them, or ``KeychainError`` if the key can't be loaded.
    public func open(_ sealed: Data) throws -> Data {
        let account = KeychainService.Account.encryptionKey
        guard let key = try keychain.loadSymmetricKey(forKey: account) else {
            throw CaptureError.encryptionKeyNotFound
        }
        do {
            return try CryptoService.decrypt(sealed, using: key)
        } catch {
            throw CaptureError.captureNotAuthentic
        }
    }
}
