// MockKeychainService: a keychain service in memory, for tests. The app doesn't link it.

import DeviceIdentity
import Foundation
import Security
import Synchronization

/// Stores secrets in memory and behaves like ``KeychainService``. The same tests run with both
/// classes.
///
/// Each object is a separate keychain. It can be used concurrently by many threads.
public final class MockKeychainService: KeychainServiceProtocol {
    private struct State {
        /// The items by the bytes of their keys, because texts that are equal in Swift can have
        /// different bytes.
        var items: [[UInt8]: Data] = [:]
        var failure: OSStatus?
    }

    private let state = Mutex(State())

    /// Creates an empty keychain.
    public init() {}

    /// Removes all items and the failure.
    public func reset() {
        state.withLock { $0 = State() }
    }

    /// The status that every operation fails with, or `nil` if operations succeed.
    ///
    /// -25308, `errSecInteractionNotAllowed`, simulates a locked device. -25300 and -25299 are
    /// regular results for ``KeychainService`` rather than failures: don't set them here.
    public var failure: OSStatus? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Saves bytes, replacing existing ones.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/saveFailed(status:)`` with ``failure``, if it is set.
    public func save(_ data: Data, for key: String) throws {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.saveFailed(status: status) }
            state.items[Array(key.utf8)] = data
        }
    }

    /// Saves bytes if the item does not exist. If several threads save the same missing item
    /// concurrently, exactly one of the calls returns `true`.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Returns: `true` if the bytes were saved.
    /// - Throws: ``KeychainError/saveFailed(status:)`` with ``failure``, if it is set.
    public func add(_ data: Data, for key: String) throws -> Bool {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.saveFailed(status: status) }
            guard state.items[Array(key.utf8)] == nil else { return false }
            state.items[Array(key.utf8)] = data
            return true
        }
    }

    /// Loads bytes.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The bytes, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError/loadFailed(status:)`` with ``failure``, if it is set.
    public func load(for key: String) throws -> Data? {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.loadFailed(status: status) }
            return state.items[Array(key.utf8)]
        }
    }

    /// Deletes an item. This succeeds if the item does not exist.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Throws: ``KeychainError/deleteFailed(status:)`` with ``failure``, if it is set.
    public func delete(for key: String) throws {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.deleteFailed(status: status) }
            state.items[Array(key.utf8)] = nil
        }
    }

    /// Checks whether an item exists.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: `true` if the item exists.
    /// - Throws: ``KeychainError/loadFailed(status:)`` with ``failure``, if it is set.
    public func exists(for key: String) throws -> Bool {
        try load(for: key) != nil
    }
}
