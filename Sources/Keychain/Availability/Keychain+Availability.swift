// Keychain+Availability: probes that determine whether a keychain or an item can be read now.

import Foundation

extension Keychain {
    /// Determines whether this keychain's items can be read now.
    ///
    /// This method searches the database for an item that doesn't exist, in this keychain's access
    /// group. On Linux, it also checks whether items with this keychain's ``accessibility`` are
    /// locked, unless a keychain service does not permit this program to administer the database.
    /// Apple's functions don't report whether a device is locked: on Apple platforms, only
    /// `availability(of:)` for an existing item can return ``Availability/State/locked``.
    ///
    /// - Returns: The availability, which includes the error if there is one. The state is never
    ///   ``Availability/State/absent``.
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

    /// Determines whether an item can be read now.
    ///
    /// The secret is read and discarded, because only a read shows that it can be read. The secret
    /// is not decoded. The user is never asked for authentication: an item whose ``AccessControl``
    /// requires authentication counts as locked, unless, on Linux, the context that was passed to
    /// `authenticating(with:)` remembers that authentication.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The availability, which includes the error if there is one. An error is never
    ///   reported as ``Availability/State/absent``.
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

    /// Determines whether this keychain's items can be read now, without blocking the caller.
    ///
    /// - Throws: Only `CancellationError`.
    public func availability() async throws -> Availability {
        try await BlockingPool.shared.run { availability() }
    }

    /// Determines whether an item can be read now, without blocking the caller.
    ///
    /// - Throws: Only `CancellationError`.
    public func availability<Value: Sendable>(
        of key: KeychainKey<Value>
    ) async throws -> Availability {
        try await BlockingPool.shared.run { availability(of: key) }
    }
}

extension KeychainDatabase {
    /// Determines whether the database as a whole can be read now.
    ///
    /// This is the same as `Keychain.availability()` for a keychain with the default accessibility
    /// and no access group.
    public func availability() -> Keychain.Availability {
        // No item has a random service.
        Keychain(service: UUID().uuidString, in: self).availability()
    }

    /// Determines whether the database as a whole can be read now, without blocking the caller.
    ///
    /// - Throws: Only `CancellationError`.
    public func availability() async throws -> Keychain.Availability {
        try await BlockingPool.shared.run { availability() }
    }
}
