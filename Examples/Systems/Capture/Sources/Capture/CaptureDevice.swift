// CaptureDevice: registers this device and encrypts its captures. Nothing here needs a network.

import CryptoKit
import Foundation

/// The device that captures, with its registration and its keys.
public struct CaptureDevice: Sendable {
    let keychain: KeychainService

    /// The device whose keys are in a keychain.
    ///
    /// - Parameter keychain: The keychain.
    public init(keychain: KeychainService = KeychainService()) {
        self.keychain = keychain
    }

    /// Registers the device or, if it is registered, does nothing.
    ///
    /// A registration that was stopped goes on with the identifier and the key that were made then.
    /// If two processes register at once, both get the same state.
    ///
    /// - Parameters:
    ///   - model: The manufacturer's name of the model.
    ///   - hasLidar: Whether the device measures depth.
    ///   - date: The time of the registration.
    /// - Returns: The state that is stored.
    /// - Throws: ``KeychainError``; the identifier and the key may have been made. A stored state
    ///   that can't be read is never replaced.
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

    /// Encrypts a capture with the key of this device, which is made at the first time.
    ///
    /// - Parameter capture: The capture, 0 bytes and up.
    /// - Returns: nonce ‖ ciphertext ‖ tag, 28 bytes more than the capture.
    /// - Throws: ``KeychainError`` of loading or adding the key.
    public func seal(_ capture: Data) throws -> Data {
        let key = try keychain.loadOrMakeSymmetricKey(
            forKey: KeychainService.Account.encryptionKey)
        return try CryptoService.encrypt(capture, using: key)
    }

    /// Decrypts what ``seal(_:)`` returned. No key is made for that.
    ///
    /// - Parameter sealed: The sealed capture.
    /// - Returns: The capture.
    /// - Throws: ``CaptureError/encryptionKeyNotFound`` if this device has no key,
    ///   ``CaptureError/captureNotAuthentic`` if the bytes were altered or another device sealed
    ///   them, or ``KeychainError`` of loading the key.
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
