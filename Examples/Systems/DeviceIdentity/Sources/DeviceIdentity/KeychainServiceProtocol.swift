// KeychainServiceProtocol: what the app asks of a keychain.

import Foundation

/// Keeps secrets by key. The app uses ``KeychainService``; tests can use one in memory.
///
/// Every function blocks its thread for as long as the keychain takes. All throw
/// ``KeychainError``, and have changed nothing then, unless a keychain service broke off: then the
/// change may have been made. This goes for every "what was stored stays" below.
public protocol KeychainServiceProtocol: Sendable {
    /// Saves bytes, replacing those that were there. They are durable when this returns.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name, one of ``KeychainKeys``. Names are compared byte for byte.
    /// - Throws: ``KeychainError/saveFailed(status:)``. What was stored stays.
    func save(_ data: Data, for key: String) throws

    /// Loads bytes.
    ///
    /// - Parameter key: Their name.
    /// - Returns: The bytes; nil if there are none. Nil never stands for a failure.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
    func load(for key: String) throws -> Data?

    /// Deletes what is there. It succeeds if there is nothing.
    ///
    /// - Parameter key: Its name.
    /// - Throws: ``KeychainError/deleteFailed(status:)``. What was stored stays.
    func delete(for key: String) throws

    /// Whether there is anything. The secret is not read.
    ///
    /// - Parameter key: Its name.
    /// - Returns: Whether there is an item. False never stands for a failure.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
    func exists(for key: String) throws -> Bool

    /// Saves bytes if there are none under this key.
    ///
    /// When several processes do this at once, one of them gets true. ``KeychainService`` keeps
    /// that promise. A type that has only the four functions above gets this one from an
    /// extension: it looks and then saves, which is enough where one process, one thread at a
    /// time, uses the keychain.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name.
    /// - Returns: Whether it was saved. If false, what was stored stays.
    /// - Throws: ``KeychainError/saveFailed(status:)``. What was stored stays.
    func add(_ data: Data, for key: String) throws -> Bool
}

extension KeychainServiceProtocol {
    /// Saves bytes if there are none: looks, then saves.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name.
    /// - Returns: Whether it was saved.
    /// - Throws: What `exists(for:)` and `save(_:for:)` throw.
    public func add(_ data: Data, for key: String) throws -> Bool {
        guard try !exists(for: key) else { return false }
        try save(data, for: key)
        return true
    }
}
