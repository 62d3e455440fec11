// The asynchronous forms of DeviceIdentity. See `Keychain+Async.swift` for what they guarantee.

public import Foundation

extension DeviceIdentity {
    /// The identifier, without blocking the caller. Where there is none, one is made and saved.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func identifier() async throws -> String {
        if let known = memory.identifier { return known }
        return try await BlockingPool.shared.run { try identifier() }
    }

    /// The identifier as a `UUID`, without blocking the caller. Where there is none, one is made
    /// and saved.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func identifier(as type: UUID.Type) async throws -> UUID {
        try Self.uuid(try await identifier())
    }

    /// The identifier if there is one, without blocking the caller. None is made.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func existing() async throws -> String? {
        try await BlockingPool.shared.run { try existing() }
    }

    /// The identifier as a `UUID` if there is one, without blocking the caller. None is made.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func existing(as type: UUID.Type) async throws -> UUID? {
        try await existing().map(Self.uuid)
    }

    /// Whether there is an identifier, without blocking the caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func exists() async throws -> Bool {
        try await BlockingPool.shared.run { try exists() }
    }

    /// Forgets the identifier for good, without blocking the caller.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func reset() async throws -> Bool {
        try await BlockingPool.shared.run { try reset() }
    }

    /// Makes a known identifier that of this installation, without blocking the caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func `import`(
        _ identifier: String, replacing isReplacing: Bool = false
    ) async throws {
        try await BlockingPool.shared.run { try `import`(identifier, replacing: isReplacing) }
    }

    /// Makes a known identifier that of this installation, without blocking the caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func `import`(_ identifier: UUID, replacing isReplacing: Bool = false) async throws {
        try await `import`(identifier.uuidString, replacing: isReplacing)
    }

    /// The identifier to take elsewhere, without blocking the caller; nil if there is none.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func export() async throws -> String? {
        try await existing()
    }
}
