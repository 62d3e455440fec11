// ObservableSecret: one secret, kept in step with the keychain, for user interfaces to observe.

import Foundation
import KeychainCore
public import Observation

/// One secret, kept in step with the keychain.
///
/// ```swift
/// let token = ObservableSecret(.token, in: keychain)
/// await token.ready()
/// try await token.save("s3cr3t")
/// token.value  // "s3cr3t"
/// ```
///
/// - ``value`` follows the changes of this process and of others, as `changes(of:)` tells of them.
/// - All of one secret, in this process, show the same at any time: those of the same database,
///   service, access group, synchronizability and account. A save by one is shown by all others
///   before the call returns or waits.
/// - A save or deletion that fails leaves the former value, and its error in ``error``.
/// - Changes are observable: a SwiftUI view that reads a property is drawn again, and
///   `withObservationTracking` works anywhere.
///
/// It belongs to the main actor and never blocks it. Making one reads nothing at once; until the
/// secret was looked at for the first time, ``state`` is nil. The secret is in memory for as long
/// as it is shown and can be read; once its item is locked, it is dropped.
///
/// There is no corresponding class in Apple's API.
@MainActor
public final class ObservableSecret<Value: Sendable>: Observable {
    /// The name of the secret.
    public nonisolated let key: KeychainKey<Value>
    /// Where it is kept.
    public nonisolated let keychain: Keychain

    private let shared: SharedObservation
    /// The state in its decoded form.
    private let decoded: SharedObservation.Memory

    /// Follows a secret.
    ///
    /// - Parameters:
    ///   - key: The name of the secret.
    ///   - keychain: Where it is kept.
    public init(_ key: KeychainKey<Value>, in keychain: Keychain) {
        self.key = key
        self.keychain = keychain
        shared = SharedObservation.of(keychain, account: key.account)
        decoded = shared.makeMemory()
    }

    // MARK: What is known

    /// What is known of the secret; nil until it was looked at for the first time.
    ///
    /// A save or deletion is shown from the call on. Should it fail, the former state comes back.
    public var state: KeychainState<Value>? {
        guard let state = shared.state else { return nil }
        if let known = decoded.content as? KeychainState<Value> { return known }
        let new: KeychainState<Value> = state.decoded(key, keychain.access(.load, key.account))
        decoded.content = new
        return new
    }

    /// The value. nil if there is none, if it is not known yet, or if it can't be read now:
    /// ``state`` says which.
    public var value: Value? { state?.value }

    /// What went wrong last: why the last save or deletion failed, or else why the value can't
    /// be read. nil once a save or deletion succeeded and the value can be read.
    ///
    /// A failure of one of all that show this secret is shown by all.
    public var error: KeychainError? { shared.writeError ?? state?.error }

    /// Whether a save or deletion is not done yet.
    public var isSaving: Bool { shared.isSaving }

    /// Waits until the secret was looked at for the first time.
    ///
    /// - Returns: The state.
    @discardableResult
    public func ready() async -> KeychainState<Value> {
        // What was shown can be taken back before this goes on.
        while true {
            if let state { return state }
            await shared.ready()
        }
    }

    // MARK: Changing it

    /// Saves a value, replacing the one that was there.
    ///
    /// It is shown at once and durable when this returns. Saves and deletions of a secret by
    /// these objects are done in the order of their calls. A cancelled task does not stop it.
    ///
    /// - Parameter value: The secret. It is copied.
    /// - Throws: ``KeychainError`` as for `save(_:for:)` of ``Keychain/Keychain``. The former
    ///   state is shown again then.
    public func save(_ value: Value) async throws {
        let access = keychain.access(.save, key.account)
        _ = try await shared.write(encode(value, access), access)
    }

    /// Deletes the value. Deleting one that is not there succeeds.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``KeychainError`` with a status of the keychain. The former state is shown again
    ///   then.
    @discardableResult
    public func delete() async throws -> Bool {
        try await shared.write(nil, keychain.access(.delete, key.account))
    }

    /// Shows a value at once and saves it in the background, or deletes with nil.
    ///
    /// Should that fail, the former state is shown again and the error is in ``error``. Of
    /// values assigned faster than they are saved, some are not: the last one is.
    ///
    /// - Parameter value: The secret. nil: none.
    public func assign(_ value: Value?) {
        guard let value else {
            shared.assign(nil, keychain.access(.delete, key.account))
            return
        }
        let access = keychain.access(.save, key.account)
        // What went wrong is in `error`.
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
