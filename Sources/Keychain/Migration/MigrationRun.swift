// MigrationRun: one value on its way from a source into a keychain.
//   (1) Copy, read back, compare, remove: the source loses its value only after the destination
//       gave the same one back.
//   (2) After each step either the source or the destination has the value, durably; a migration
//       that stops here can begin anew, and finds the rest to be done.
//   (3) The destination's value is replaced only if the caller said so, and only the one that
//       was compared.

import Foundation
import KeychainCore

/// The steps of a migration after which a test can stop it.
package enum MigrationStep: String, CaseIterable, Hashable, Sendable {
    /// The source was read. Nothing was changed.
    case read
    /// The destination has a copy.
    case copied
    /// The copy was read back and compared.
    case compared
    /// The source's value was removed.
    case removed
}

/// What a test does after a step. What it throws ends the migration there.
package typealias MigrationHook = @Sendable (MigrationStep) throws -> Void

/// Where a value comes from.
protocol MigrationSource {
    /// The stored form of the value; nil if there is none.
    mutating func read() throws(KeychainError) -> Data?

    /// Removes what was read.
    mutating func remove() throws(KeychainError) -> Removal
}

enum Removal {
    case removed
    /// The value is another one now and was left alone.
    case changed
    /// It can't be removed.
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
    /// - Throws: `KeychainError`, or what the hook throws.
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
            // A copy that others have changed or deleted meanwhile is none: begin anew.
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

    /// Brings the value to the destination, or says that it is there or may not.
    private func copy(_ data: Data) throws(KeychainError) -> Keychain.Migration.Outcome {
        let contents = try access.contents(form, data, in: destination)
        for _ in 0..<ItemAccess.attemptLimit {
            if try access.add(contents) { return .migrated }
            // Deleted since: the addition is possible now.
            guard let present = try access.find(includesData: true) else { continue }
            if form.isSame(present.secret, data) {
                // The only copy that is left must ask for what the value asks for.
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
    /// What to store for bytes that are in their stored form already.
    func contents(
        _ form: StoredForm, _ data: Data, in keychain: Keychain
    ) throws(KeychainError) -> ItemChanges {
        let key = KeychainKey<Data>(
            form.account, label: form.label, accessibility: form.accessibility,
            accessControl: form.accessControl, encode: { $0 }, decode: { $0 })
        return try encode(data, key, in: keychain)
    }
}
