// Migration from one place of a keychain to another: accessibility, service, access group,
// synchronizable, account, database.
//   (1) Bytes are moved as they are stored. They are not decoded.
//   (2) Whether source and destination are one item is decided by its persistent reference,
//       before anything is written: such an item is changed in place and never removed.
//   (3) The source's value is removed only in the version that was read.

import Foundation
import KeychainCore

extension Keychain {
    /// Moves a value from another keychain into this one.
    ///
    /// The value is added, read back, compared and only then removed from the source. If the
    /// program ends half-way, nothing is lost, and the next call does the rest. A value of this
    /// keychain is never replaced unless the rule says so. The moved item is a new one; it gets
    /// the accessibility of the key or of this keychain, and keeps its label and its access control
    /// unless the key has one. The person is asked for an item under an access control. On Apple
    /// platforms there are access controls that can't be identified, such as
    /// ``AccessControl/biometryCurrentSet`` and those that this API can't make. An item under one is
    /// moved only if the key names an access control.
    ///
    /// If the two keychains differ in accessibility alone, the item is changed in place: it keeps
    /// its persistent reference and creation date. That is so too if this keychain names no access
    /// group and the item is in one of the program's: it is here already.
    ///
    /// - Parameters:
    ///   - key: The name of the value here.
    ///   - source: The keychain that has it.
    ///   - account: The account there. nil: that of the key.
    ///   - rule: What happens if this keychain has another value already.
    /// - Returns: What was done; never ``Migration/Outcome/failed``.
    /// - Throws: ``KeychainError`` if it failed. The source has the value still, and running it
    ///   again after the cause has gone does what is left. ``KeychainError/Code/unimplemented`` for
    ///   an access control that can't be identified; nothing was changed.
    ///
    /// The corresponding calls are `SecItemCopyMatching`, `SecItemAdd`, `SecItemCopyMatching` and
    /// `SecItemDelete`, or for a change in place `SecItemUpdate`.
    @discardableResult
    public func migrate<Value: Sendable>(
        _ key: KeychainKey<Value>, from source: Keychain, account: String? = nil,
        onConflict rule: Migration.ConflictRule = .report
    ) throws(KeychainError) -> Migration.Outcome {
        do {
            return try migrate(
                StoredForm(key), from: source, account: account ?? key.account, onConflict: rule
            ) { _ in }
        } catch {
            // Only a hook throws anything else.
            throw error as? KeychainError ?? KeychainError(.internalError)
        }
    }

    /// Moves a value from another keychain into this one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func migrate<Value: Sendable>(
        _ key: KeychainKey<Value>, from source: Keychain, account: String? = nil,
        onConflict rule: Migration.ConflictRule = .report
    ) async throws -> Migration.Outcome {
        try await BlockingPool.shared.run {
            try migrate(key, from: source, account: account, onConflict: rule)
        }
    }

    /// Moves all values of another keychain into this one, under their accounts.
    ///
    /// Each is moved as by `migrate(_:from:account:onConflict:)`. One that fails doesn't keep the
    /// others from being moved.
    ///
    /// An item whose access control can't be identified stays where it is, and its record says
    /// ``KeychainError/Code/unimplemented``: move it by itself, with a key that names one.
    ///
    /// ```swift
    /// let old = Keychain(service: "com.example.app")
    /// let new = Keychain(service: "com.example.app", accessibility: .whenUnlocked)
    /// let report = try new.migrateAll(from: old)  // in place
    /// ```
    ///
    /// - Parameters:
    ///   - source: The keychain that has them.
    ///   - rule: What happens if this keychain has another value of an account already.
    /// - Returns: What was done about each item of the source.
    /// - Throws: ``KeychainError`` if the source can't be listed. Nothing was changed.
    public func migrateAll(
        from source: Keychain, onConflict rule: Migration.ConflictRule = .report
    ) throws(KeychainError) -> Migration.Report {
        let found = try source.items()
        return Migration.Report(
            records: found.map { item in
                let account = item.account
                let place = source.inGroup(item.accessGroup)
                do {
                    let outcome = try migrate(
                        StoredForm(account: account, label: nil, accessibility: nil),
                        from: place, account: account, onConflict: rule
                    ) { _ in }
                    return Migration.Record(
                        source: account, account: account, outcome: outcome)
                } catch {
                    // Only a hook throws anything else.
                    let error = error as? KeychainError ?? KeychainError(.internalError)
                    return Migration.Record(source: account, account: account, error: error)
                }
            })
    }

    /// Moves all values of another keychain into this one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func migrateAll(
        from source: Keychain, onConflict rule: Migration.ConflictRule = .report
    ) async throws -> Migration.Report {
        try await BlockingPool.shared.run { try migrateAll(from: source, onConflict: rule) }
    }

    /// Moves one value, with a hook after each step.
    ///
    /// - Throws: `KeychainError`, or what the hook throws.
    package func migrate<Value: Sendable>(
        _ key: KeychainKey<Value>, from source: Keychain, account: String,
        onConflict rule: Migration.ConflictRule, hook: @escaping MigrationHook
    ) throws -> Migration.Outcome {
        try migrate(
            StoredForm(key), from: source, account: account, onConflict: rule, hook: hook)
    }

    private func migrate(
        _ form: StoredForm, from source: Keychain, account: String,
        onConflict rule: Migration.ConflictRule, hook: @escaping MigrationHook
    ) throws -> Migration.Outcome {
        let reading = source.access(.migrate, account)
        for _ in 0..<ItemAccess.attemptLimit {
            guard let item = try reading.attributes() else { return .nothingToMigrate }
            // From here on the one item in its group, also where the source means all groups.
            let access = reading.inGroup(item.accessGroup)
            if try isHere(item, as: form.account) { return try changeInPlace(form, access, hook) }
            // An item that was deleted and added again between the two looks has two references
            // and is one place still. A reference never comes back: if it is the same before and
            // after, the places are two, and stay two.
            let again = try access.attributes()
            guard again?.persistentReference == item.persistentReference else { continue }
            try requireAccessControl(of: item, for: form, access)
            return try MigrationRun(
                destination: self, form: form.completed(by: item), rule: rule, hook: hook
            ).run(KeychainSource(access: access))
        }
        throw reading.unsettled
    }

    /// Whether an item is one of this keychain's under an account.
    private func isHere(_ item: Item, as account: String) throws(KeychainError) -> Bool {
        guard item.isSynchronizable == isSynchronizable, item.account == account else {
            return false
        }
        if let group = accessGroup {
            guard group == item.accessGroup else { return false }
        }
        let place = access(.migrate, account).inGroup(item.accessGroup)
        do {
            return try place.attributes()?.persistentReference == item.persistentReference
        } catch {
            // In another database this program may not have that group, so it isn't here.
            guard accessGroup == nil, error.code == .missingEntitlement else { throw error }
            return false
        }
    }

    /// Brings an item to the label and accessibility that it is to have.
    private func changeInPlace(
        _ form: StoredForm, _ access: ItemAccess, _ hook: MigrationHook
    ) throws -> Migration.Outcome {
        let wanted = form.accessibility ?? accessibility
        for _ in 0..<ItemAccess.attemptLimit {
            guard let present = try access.find(includesData: true) else {
                return .nothingToMigrate
            }
            try hook(.read)
            guard let now = try access.attributes() else { continue }
            let form = form.completed(by: now)
            if now.accessibility == wanted && form.label == now.label
                && form.accessControl == now.accessControl
            {
                return .alreadyThere
            }
            try requireAccessControl(of: now, for: form, access)
            let contents = try access.contents(form, present.secret, in: self)
            guard try access.change(present, contents) else { continue }
            try hook(.copied)
            return .changedInPlace
        }
        throw access.unsettled
    }

    /// Makes sure that no access control is lost because it can't be identified.
    private func requireAccessControl(
        of item: Item, for form: StoredForm, _ access: ItemAccess
    ) throws(KeychainError) {
        if form.accessControl != nil || item.accessControlIsKnown { return }
        guard try !access.opensForAnyone() else { return }
        throw access.failed(
            KeychainFailure(
                .unimplemented,
                "The item has an access control that can't be identified. Migrate it by itself, "
                    + "with a key that names its access control. Nothing was changed."))
    }
}

extension StoredForm {
    /// The same form with the label and the access control of an item, unless it has its own.
    fileprivate func completed(by item: Keychain.Item) -> StoredForm {
        var form = self
        form.label = label ?? item.label
        form.accessControl = accessControl ?? item.accessControl
        return form
    }
}

/// A value of a keychain.
private struct KeychainSource: MigrationSource {
    let access: ItemAccess
    private var found: ItemSnapshot?

    init(access: ItemAccess) {
        self.access = access
    }

    mutating func read() throws(KeychainError) -> Data? {
        found = try access.find(includesData: true)
        return found?.secret
    }

    mutating func remove() throws(KeychainError) -> Removal {
        guard let found else { return .removed }
        if try access.replace(found, nil) { return .removed }
        // Changed, or removed by another thread or process that does the same.
        return try access.find(includesData: false) == nil ? .removed : .changed
    }
}
