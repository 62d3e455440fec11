// Probes: what a keychain and an item of it would answer now.

import Foundation

extension Keychain {
    /// Whether this keychain's items can be read now.
    ///
    /// Asks the database for an item that doesn't exist, in this keychain's access group, and, on
    /// Linux, for its lock: items of this keychain's ``accessibility`` count. Apple's functions
    /// don't tell whether a device is locked: there, only `availability(of:)` an item that exists
    /// gives ``Availability/State/locked``.
    ///
    /// - Returns: What was found; never ``Availability/State/absent``. An error is part of it.
    public func availability() -> Availability {
        do {
            // No item has a random account.
            _ = try access(.load, UUID().uuidString).load()
            return try database.isLocked(for: accessibility)
                ? Availability(locked) : .available
        } catch {
            return Availability(error)
        }
    }

    /// Whether an item can be read now.
    ///
    /// The secret is read, as that alone shows that it can be, and dropped. It is not decoded. No
    /// person is asked: an item under an ``AccessControl`` counts as locked.
    ///
    /// - Parameter key: The name of the item.
    /// - Returns: What was found. An error is part of it, and never
    ///   ``Availability/State/absent``.
    public func availability<Value: Sendable>(of key: KeychainKey<Value>) -> Availability {
        do {
            let found = try withoutInteraction.access(.load, key.account).load()
            return found == nil ? .absent : .available
        } catch {
            return Availability(error)
        }
    }

    private var locked: KeychainError {
        KeychainError(.interactionNotAllowed, operation: .load, service: service)
    }

    // MARK: Asynchronous forms

    /// Whether this keychain's items can be read now, without blocking the caller.
    ///
    /// - Throws: `CancellationError` and nothing else.
    public func availability() async throws -> Availability {
        try await BlockingPool.shared.run { availability() }
    }

    /// Whether an item can be read now, without blocking the caller.
    ///
    /// - Throws: `CancellationError` and nothing else.
    public func availability<Value: Sendable>(
        of key: KeychainKey<Value>
    ) async throws -> Availability {
        try await BlockingPool.shared.run { availability(of: key) }
    }
}

extension KeychainDatabase {
    /// Whether the database as a whole can be read now.
    ///
    /// The same as `Keychain.availability()` of a keychain with the default
    /// accessibility and without an access group.
    public func availability() -> Keychain.Availability {
        // No item has a random service.
        Keychain(service: UUID().uuidString, in: self).availability()
    }

    /// Whether the database as a whole can be read now, without blocking the caller.
    ///
    /// - Throws: `CancellationError` and nothing else.
    public func availability() async throws -> Keychain.Availability {
        try await BlockingPool.shared.run { availability() }
    }
}
