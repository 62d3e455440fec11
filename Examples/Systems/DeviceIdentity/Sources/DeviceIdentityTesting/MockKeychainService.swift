// MockKeychainService: a keychain service in memory, for tests. The app doesn't link it.

import DeviceIdentity
import Foundation
import Security
import Synchronization

/// Keeps secrets in memory and behaves as ``KeychainService`` does: the tests of that one run over
/// both.
///
/// Each object is a keychain of its own. It can be used from many threads at once.
public final class MockKeychainService: KeychainServiceProtocol {
    private struct State {
        /// By the bytes of the key: two texts that Swift takes for equal can differ in these.
        var items: [[UInt8]: Data] = [:]
        var failure: OSStatus?
    }

    private let state = Mutex(State())

    /// Makes an empty one.
    public init() {}

    /// Removes all items and the failure.
    public func reset() {
        state.withLock { $0 = State() }
    }

    /// The status with which every operation fails; nil: none fails.
    ///
    /// -25308, `errSecInteractionNotAllowed`, is that of a locked device. -25300 and -25299 are
    /// answers to ``KeychainService`` and no failures: don't set them here.
    public var failure: OSStatus? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Saves bytes, replacing those that were there.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name.
    /// - Throws: ``KeychainError/saveFailed(status:)`` with the set ``failure``.
    public func save(_ data: Data, for key: String) throws {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.saveFailed(status: status) }
            state.items[Array(key.utf8)] = data
        }
    }

    /// Saves bytes if there are none. When several threads do this at once, one gets true.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name.
    /// - Returns: Whether it was saved.
    /// - Throws: ``KeychainError/saveFailed(status:)`` with the set ``failure``.
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
    /// - Parameter key: Their name.
    /// - Returns: The bytes; nil if there are none.
    /// - Throws: ``KeychainError/loadFailed(status:)`` with the set ``failure``.
    public func load(for key: String) throws -> Data? {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.loadFailed(status: status) }
            return state.items[Array(key.utf8)]
        }
    }

    /// Deletes what is there. It succeeds if there is nothing.
    ///
    /// - Parameter key: Its name.
    /// - Throws: ``KeychainError/deleteFailed(status:)`` with the set ``failure``.
    public func delete(for key: String) throws {
        try state.withLock { state in
            if let status = state.failure { throw KeychainError.deleteFailed(status: status) }
            state.items[Array(key.utf8)] = nil
        }
    }

    /// Whether there is anything.
    ///
    /// - Parameter key: Its name.
    /// - Returns: Whether there is an item.
    /// - Throws: ``KeychainError/loadFailed(status:)`` with the set ``failure``.
    public func exists(for key: String) throws -> Bool {
        try load(for: key) != nil
    }
}
