// The values that the capture app keeps, each as its own type.

public import Foundation
import Keychain
public import KeychainCryptoKit

extension KeychainService {
    // MARK: Symmetric keys

    /// Saves a key of 256 bits, replacing the one that was there.
    ///
    /// What the replaced key has encrypted can't be decrypted any more.
    ///
    /// - Parameters:
    ///   - symmetricKey: The key.
    ///   - key: The key of the item.
    ///   - protection: When it can be read from now on.
    /// - Throws: `KeychainError` with reason `invalidData` for a key of another size, and nothing
    ///   was stored; otherwise as for ``save(_:forKey:protection:)``.
    public func saveSymmetricKey(
        _ symmetricKey: SymmetricKey, forKey key: String,
        protection: Protection = .afterFirstUnlockThisDeviceOnly
    ) throws {
        try perform("save", key) {
            try keychain.save(symmetricKey, for: Self.symmetricKey(key, protection))
        }
    }

    /// Loads a key of 256 bits.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The key, ready for use; nil if there is no such item.
    /// - Throws: `KeychainError` with reason `invalidData` if the stored bytes are not 32: they
    ///   stay. Otherwise as for ``load(forKey:)``.
    public func loadSymmetricKey(forKey key: String) throws -> SymmetricKey? {
        try perform("load", key) { try keychain.load(Self.symmetricKey(key)) }
    }

    /// Loads a key of 256 bits or, where there is none, makes and saves one.
    ///
    /// If two processes do this at once, both get the same key.
    ///
    /// - Parameters:
    ///   - key: The key of the item.
    ///   - makeKey: Makes the key to save.
    /// - Returns: The key that is in the keychain.
    /// - Throws: `KeychainError` as for ``loadSymmetricKey(forKey:)`` and
    ///   ``saveSymmetricKey(_:forKey:protection:)``.
    public func loadSymmetricKey(
        forKey key: String, orAdd makeKey: () -> SymmetricKey
    ) throws -> SymmetricKey {
        try perform("load or add", key) {
            try keychain.load(Self.symmetricKey(key), orAdd: makeKey)
        }
    }

    private static func symmetricKey(
        _ key: String, _ protection: Protection = .afterFirstUnlockThisDeviceOnly
    ) -> KeychainKey<SymmetricKey> {
        KeychainKey(key, accessibility: protection.accessibility, size: .bits256)
    }

    // MARK: Device state

    /// Saves the state of this device, replacing the one that was there.
    ///
    /// - Throws: `KeychainError` with reason `encodingFailed` or `saveFailed`; the stored state is
    ///   as it was.
    public func saveDeviceState(_ state: DeviceState) throws {
        try perform("save", Account.deviceState) { try keychain.save(state, for: .deviceState) }
    }

    /// Loads the state of this device; nil if it was never saved.
    ///
    /// - Throws: `KeychainError` with reason `decodingFailed` if the stored bytes are no state.
    ///   They stay in the keychain as they are, and are in the error's `storedData`.
    public func loadDeviceState() throws -> DeviceState? {
        try perform("load", Account.deviceState) { try keychain.load(.deviceState) }
    }

    /// Loads the state of this device or, where there is none, makes and saves one.
    ///
    /// If two processes do this at once, both get the same state.
    ///
    /// - Parameter makeState: Makes the state to save.
    /// - Returns: The state that is in the keychain.
    /// - Throws: `KeychainError` as for ``loadDeviceState()`` and ``saveDeviceState(_:)``, or what
    ///   `makeState` throws.
    public func loadDeviceState(orAdd makeState: () throws -> DeviceState) throws -> DeviceState {
        try perform("load or add", Account.deviceState) {
            try keychain.load(.deviceState, orAdd: makeState)
        }
    }

    // MARK: Identifiers

    /// Saves the identifier of this device.
    ///
    /// - Throws: `KeychainError` with reason `saveFailed`.
    public func saveDeviceId(_ identifier: String) throws {
        try perform("save", Account.deviceId) { try keychain.save(identifier, for: .deviceId) }
    }

    /// Saves the identifier of this device, as the text of a UUID.
    ///
    /// - Throws: `KeychainError` with reason `saveFailed`.
    public func saveDeviceId(_ identifier: UUID) throws {
        try saveDeviceId(identifier.uuidString)
    }

    /// Loads the identifier of this device; nil if there is none.
    ///
    /// - Throws: `KeychainError` with reason `loadFailed`, or `invalidData` if it is no text.
    public func loadDeviceId() throws -> String? {
        try perform("load", Account.deviceId) { try keychain.load(.deviceId) }
    }

    /// Loads the identifier of this device or, where there is none, makes and saves one.
    ///
    /// If two processes do this at once, both get the same identifier.
    ///
    /// - Parameter makeIdentifier: Makes the identifier to save.
    /// - Returns: The identifier that is in the keychain.
    /// - Throws: `KeychainError` as for ``loadDeviceId()`` and `saveDeviceId(_:)`.
    public func loadDeviceId(orAdd makeIdentifier: () -> UUID) throws -> String {
        try perform("load or add", Account.deviceId) {
            try keychain.load(.deviceId, orAdd: { makeIdentifier().uuidString })
        }
    }

    /// Saves the name of the key that attests this device.
    ///
    /// - Throws: `KeychainError` with reason `saveFailed`.
    public func saveAttestationKeyId(_ identifier: String) throws {
        try perform("save", Account.attestationKeyId) {
            try keychain.save(identifier, for: .attestationKeyId)
        }
    }

    /// Loads the name of the key that attests this device; nil if there is none.
    ///
    /// - Throws: `KeychainError` with reason `loadFailed`, or `invalidData` if it is no text.
    public func loadAttestationKeyId() throws -> String? {
        try perform("load", Account.attestationKeyId) { try keychain.load(.attestationKeyId) }
    }
}

extension KeychainKey where Value == String {
    fileprivate static var attestationKeyId: Self {
        Self(KeychainService.Account.attestationKeyId)
    }

    fileprivate static var deviceId: Self { Self(KeychainService.Account.deviceId) }
}

extension KeychainKey where Value == DeviceState {
    fileprivate static var deviceState: Self { Self(KeychainService.Account.deviceState) }
}
