// ObservableSecret: an observable object that mirrors one secret, for user interfaces.

import Foundation
import KeychainCore
public import Observation

/// An observable object that stays in sync with one secret in the keychain.
///
/// ```swift
/// let token = ObservableSecret(.token, in: keychain)
/// await token.ready()
/// try await token.save("s3cr3t")
/// token.value  // "s3cr3t"
/// ```
///
/// - ``value`` follows changes by this process and by other processes, as reported by
///   `changes(of:)`.
/// - All objects for the same secret in this process always show the same state. Two objects are
///   for the same secret if their database, service or server, access group, synchronizability and
///   account are equal, and if both have the same context, passed to `authenticating(with:)`, or
///   neither has one. What an object shows depends on the authentication that its context
///   remembers. A save through one object is visible in all others before the call returns or
///   suspends.
/// - If a save or deletion fails, the previous value is restored, and the error is in ``error``.
/// - Changes are observable: a SwiftUI view that reads a property is updated, and
///   `withObservationTracking` works in any code.
///
/// The object belongs to the main actor and never blocks it. Creating one does not read the
/// keychain synchronously; ``state`` is `nil` until the first read completes, or until a save or
/// deletion is requested. The secret stays in memory while it is the current ``value`` of an
/// object. When a read finds the item locked, the secret is dropped.
///
/// Apple's API has no corresponding class.
@MainActor
public final class ObservableSecret<Value: Sendable>: Observable {
    /// The key of the secret.
    public nonisolated let key: KeychainKey<Value>
    /// The keychain that contains the secret.
    public nonisolated let keychain: Keychain

    private let shared: SharedObservation
    /// A cache of the state in its decoded form.
    private let decoded: SharedObservation.Memory

    /// Creates an object that follows a secret.
    ///
    /// - Parameters:
    ///   - key: The key of the secret.
    ///   - keychain: The keychain that contains the secret.
    public init(_ key: KeychainKey<Value>, in keychain: Keychain) {
        self.key = key
        self.keychain = keychain
        shared = SharedObservation.of(keychain, account: key.account)
        decoded = shared.makeMemory()
    }

    // MARK: State

    /// The state of the secret, or `nil` while nothing is known about it: until the first read
    /// completes, or until a save or deletion is requested.
    ///
    /// A save or deletion is shown as soon as it is requested. If it fails, the previous state is
    /// restored.
    public var state: KeychainState<Value>? {
        guard let state = shared.state else { return nil }
        if let known = decoded.content as? KeychainState<Value> { return known }
        let new: KeychainState<Value> = state.decoded(key, keychain.access(.load, key.account))
        decoded.content = new
        return new
    }

    /// The value, or `nil` if there is none, if it has not been read yet, or if it can't be read
    /// now. Use ``state`` to distinguish these cases.
    public var value: Value? { state?.value }

    /// The error of the last failed save or deletion, until one succeeds. Otherwise the reason that
    /// the value can't be read, or `nil` if there is none.
    ///
    /// All objects for the same secret show the same error, except for a decoding error: only
    /// objects whose value type doesn't match the stored bytes show it.
    public var error: KeychainError? { shared.writeError ?? state?.error }

    /// Whether a save or deletion is in progress or waiting.
    public var isSaving: Bool { shared.isSaving }

    /// Waits until ``state`` is known, normally until the first read completes.
    ///
    /// - Returns: The state.
    @discardableResult
    public func ready() async -> KeychainState<Value> {
        // The state can become unknown again before this task resumes.
        while true {
            if let state { return state }
            await shared.ready()
        }
    }

    // MARK: Changes

    /// Saves a value, replacing an existing one.
    ///
    /// The value is shown immediately, and is durable when this method returns. Saves and deletions
    /// of a secret through these objects are carried out in the order of their calls. Canceling the
    /// task does not stop the save.
    ///
    /// - Parameter value: The secret. It is copied.
    /// - Throws: ``KeychainError`` as for `save(_:for:)` of ``Keychain/Keychain``. The previous
    ///   state is then restored.
    public func save(_ value: Value) async throws {
        let access = keychain.access(.save, key.account)
        _ = try await shared.write(encode(value, access), access)
    }

    /// Deletes the value. Deleting a value that does not exist succeeds.
    ///
    /// - Returns: `true` if the value existed.
    /// - Throws: ``KeychainError`` with the status of the failure. The previous state is then
    ///   restored.
    @discardableResult
    public func delete() async throws -> Bool {
        try await shared.write(nil, keychain.access(.delete, key.account))
    }

    /// Shows a value immediately and saves it in the background. `nil` deletes the value.
    ///
    /// If the save or deletion fails, the previous state is restored and the error is in ``error``.
    /// If values are assigned faster than they are saved, intermediate values can be skipped, but
    /// never the last one.
    ///
    /// - Parameter value: The secret, or `nil` to delete it.
    public func assign(_ value: Value?) {
        guard let value else {
            shared.assign(nil, keychain.access(.delete, key.account))
            return
        }
        let access = keychain.access(.save, key.account)
        // The error is available in `error`.
        guard let contents = try? encode(value, access) else { return }
        shared.assign(contents, access)
    }

    private func encode(_ value: Value, _ access: ItemAccess) throws -> ItemChanges {
        do {
            return try access.encode(value, key, in: keychain)
        } catch {
            shared.refuse(error)
            throw error
        }
    }
}
