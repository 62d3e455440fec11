// KeychainServiceProtocol: the operations that the app needs from a keychain.

import Foundation

/// Stores secrets by key. The app uses ``KeychainService``; tests can use an implementation in
/// memory.
///
/// Every function blocks its thread until the keychain responds. All functions throw
/// ``KeychainError``. If a function throws, nothing was changed, with one exception: if the
/// connection to a keychain service broke, or the disk failed to synchronize the change, the change
/// may have been made. This exception also applies where the documentation of a function says that
/// stored data are kept or that the item is kept.
public protocol KeychainServiceProtocol: Sendable {
    /// Saves bytes, replacing existing ones. The saved bytes are durable when this method returns.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored, one of ``KeychainKeys``. Names are
    ///     compared byte for byte.
    /// - Throws: ``KeychainError/saveFailed(status:)``. Stored data are kept.
    func save(_ data: Data, for key: String) throws

    /// Loads bytes.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The bytes, or `nil` if the item does not exist. `nil` never indicates a failure.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
    func load(for key: String) throws -> Data?

    /// Deletes an item. This succeeds if the item does not exist.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Throws: ``KeychainError/deleteFailed(status:)``. Stored data are kept.
    func delete(for key: String) throws

    /// Checks whether an item exists, without reading its secret.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: `true` if the item exists. `false` never indicates a failure.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
    func exists(for key: String) throws -> Bool

    /// Saves bytes if the item does not exist.
    ///
    /// If several processes do this concurrently, exactly one of the calls returns `true`.
    /// ``KeychainService`` guarantees this. A type that implements only the four functions above
    /// gets this function from an extension, which checks and then saves. The extension is
    /// sufficient if only one thread of one process uses the keychain at a time.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Returns: `true` if the bytes were saved. If `false`, the stored data are kept.
    /// - Throws: ``KeychainError/saveFailed(status:)``. Stored data are kept.
    func add(_ data: Data, for key: String) throws -> Bool
}

extension KeychainServiceProtocol {
    /// Saves bytes if the item does not exist, by checking and then saving.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Returns: `true` if the bytes were saved.
    /// - Throws: The errors of `exists(for:)` and `save(_:for:)`.
    public func add(_ data: Data, for key: String) throws -> Bool {
        guard try !exists(for: key) else { return false }
        try save(data, for: key)
        return true
    }
}
