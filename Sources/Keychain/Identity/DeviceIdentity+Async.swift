// DeviceIdentity+Async: the asynchronous forms. For their guarantees, see `Keychain+Async.swift`.

public import Foundation

extension DeviceIdentity {
    /// Returns the identifier, creating and saving one if none exists, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func identifier() async throws -> String {
        if let known = memory.identifier { return known }
        return try await BlockingPool.shared.run { try identifier() }
    }

    /// Returns the identifier as a `UUID`, creating and saving one if none exists, without blocking
    /// the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func identifier(as type: UUID.Type) async throws -> UUID {
        try Self.uuid(try await identifier())
    }

    /// Returns the identifier, or `nil` if none exists, without blocking the caller. None is
    /// created.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func existing() async throws -> String? {
        try await BlockingPool.shared.run { try existing() }
    }

    /// Returns the identifier as a `UUID`, or `nil` if none exists, without blocking the caller.
    /// None is created.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func existing(as type: UUID.Type) async throws -> UUID? {
        try await existing().map(Self.uuid)
    }

    /// Checks whether an identifier exists, without blocking the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func exists() async throws -> Bool {
        try await BlockingPool.shared.run { try exists() }
    }

    /// Permanently deletes the identifier, without blocking the caller.
    ///
    /// - Returns: `true` if an identifier existed.
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func reset() async throws -> Bool {
        try await BlockingPool.shared.run { try reset() }
    }

    /// Stores an existing identifier as the identifier of this installation, without blocking the
    /// caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func `import`(
        _ identifier: String, replacing isReplacing: Bool = false
    ) async throws {
        try await BlockingPool.shared.run { try `import`(identifier, replacing: isReplacing) }
    }

    /// Stores an existing identifier as the identifier of this installation, without blocking the
    /// caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func `import`(_ identifier: UUID, replacing isReplacing: Bool = false) async throws {
        try await `import`(identifier.uuidString, replacing: isReplacing)
    }

    /// Returns the identifier for use elsewhere, or `nil` if none exists, without blocking the
    /// caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func export() async throws -> String? {
        try await existing()
    }
}
