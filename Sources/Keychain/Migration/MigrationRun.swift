// MigrationRun: moves one value from a source to a keychain.
//   (1) Copy, read back, compare, remove: the source's value is removed only after the destination
//       has returned the same value or, with the rule `keepDestination`, a different one.
//   (2) After each step, the source or the destination durably contains the value, unless the rule
//       `keepDestination` discards it. A migration that stops after any step can be started again,
//       and then completes the remaining steps.
//   (3) The destination's value is replaced only if the caller permits it, and only if it is still
//       the version that was compared.

import Foundation
import KeychainCore

/// The steps of a migration. A test can stop the migration after each of them.
package enum MigrationStep: String, CaseIterable, Hashable, Sendable {
    /// The source was read. Nothing was changed.
    case read
    /// The destination contains a copy, or keeps a different value (`keepDestination`).
    case copied
    /// The destination's value was read back. It equals the source's value, unless the rule
    /// `keepDestination` kept a different one.
    case compared
    /// The source's value was removed.
    case removed
}

/// A closure that a test runs after each step. An error that it throws ends the migration.
package typealias MigrationHook = @Sendable (MigrationStep) throws -> Void

/// The source of a value.
protocol MigrationSource {
    /// Returns the bytes to store in the destination, or `nil` if the source has no value.
    mutating func read() throws(KeychainError) -> Data?

    /// Removes the value that was read.
    mutating func remove() throws(KeychainError) -> Removal
}

enum Removal {
    case removed
    /// The value has changed since it was read, and was not removed.
    case changed
    /// The value can't be removed.
    case remains
}

struct MigrationRun {
    let destination: Keychain
    let form: StoredForm
    let rule: Keychain.Migration.ConflictRule
    let hook: MigrationHook

    private var access: ItemAccess { destination.access(.migrate, form.account) }

    /// Moves one value.
    ///
    /// - Throws: `KeychainError`, or the error that the hook throws.
    func run<Source: MigrationSource>(
        _ source: Source
    ) throws -> Keychain.Migration.Outcome {
        var source = source
        for _ in 0..<ItemAccess.attemptLimit {
            guard let data = try source.read() else { return .nothingToMigrate }
            try hook(.read)
            let copied = try copy(data)
            guard copied.isComplete else { return copied }
            try hook(.copied)
            // If another thread or process has deleted or changed the copy in the meantime, start
            // again.
            guard let stored = try access.load() else { continue }
            guard copied == .destinationKept || form.isSame(stored, data) else { continue }
            try hook(.compared)
            switch try source.remove() {
            case .removed:
                try hook(.removed)
                return copied
            case .remains: return .sourceRemains
            case .changed: continue
            }
        }
        throw access.unsettled
    }

    /// Copies the value to the destination, unless the destination already has it or has another
    /// value that may not be replaced.
    ///
    /// - Returns: The outcome of the migration if all further steps succeed.
    private func copy(_ data: Data) throws(KeychainError) -> Keychain.Migration.Outcome {
        let contents = try access.contents(form, data, in: destination)
        for _ in 0..<ItemAccess.attemptLimit {
            if try access.add(contents) { return .migrated }
            // If the item was deleted in the meantime, an addition can succeed now.
            guard let present = try access.find(includesData: true) else { continue }
            if form.isSame(present.secret, data) {
                // The source's copy will be removed. The destination's copy must therefore have the
                // access control that the caller's `KeychainKey` specifies. If the key specifies
                // none, it must have the access control of the source's item, if there is one.
                guard let wanted = form.accessControl, wanted.constraints != present.constraints
                else { return .alreadyThere }
                if try access.change(present, contents) { return .alreadyThere }
                continue
            }
            switch rule {
            case .report: return .conflict
            case .keepDestination: return .destinationKept
            case .keepSource:
                if try access.replace(present, contents) { return .destinationReplaced }
            }
        }
        throw access.unsettled
    }
}

extension ItemAccess {
    /// The contents of an item whose secret is `data`, which is already encoded.
    func contents(
        _ form: StoredForm, _ data: Data, in keychain: Keychain
    ) throws(KeychainError) -> ItemChanges {
        let key = KeychainKey<Data>(
            form.account, label: form.label, accessibility: form.accessibility,
            accessControl: form.accessControl, encode: { $0 }, decode: { $0 })
        return try encode(data, key, in: keychain)
    }
}
