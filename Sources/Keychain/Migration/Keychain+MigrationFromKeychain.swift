// Keychain+MigrationFromKeychain: migrates values within a keychain, or between keychains: to
// another accessibility, service, access group, synchronizability, account or database.
//   (1) Bytes are moved as they are stored. They are decoded only to compare two values of a known
//       type whose bytes differ.
//   (2) Before anything is written, the persistent reference and the modification date determine
//       whether source and destination are the same item. Such an item is changed in place and
//       never removed.
//   (3) The source's value is removed only if it is still the version that was read.

import Foundation
import KeychainCore

extension Keychain {
    /// Moves a value from another keychain to this one.
    ///
    /// The value is added, read back and compared, and only then removed from the source. If the
    /// program ends at any point, nothing is lost, and the next call completes the migration. If
    /// this keychain already contains a different value, that value is replaced, or the source's
    /// value is removed instead, only if the rule says so. A value that is added becomes a new
    /// item. The item gets the accessibility of the key or of this keychain, and the label and
    /// access control of the key or, if the key specifies none, those of the source's item.
    ///
    /// The user is asked for authentication if the item's access control requires it. On Apple
    /// platforms, some access controls can't be identified, such as
    /// ``AccessControl/biometryCurrentSet`` and those that this API can't create. An item with such
    /// an access control is moved only if the key specifies an access control.
    ///
    /// If the two keychains differ only in accessibility and the account stays the same, the item
    /// is changed in place and keeps its persistent reference and creation date. The access groups
    /// of the two keychains may differ too if this keychain specifies none and the item is in one
    /// of the program's groups, because the item then already belongs to this keychain.
    ///
    /// - Parameters:
    ///   - key: The key of the value in this keychain.
    ///   - source: The keychain that contains the value.
    ///   - account: The account in the source, or `nil` if it is the account of the key.
    ///   - rule: What to do if this keychain already contains a different value.
    /// - Returns: The outcome, which is never ``Migration/Outcome/failed``.
    /// - Throws: ``KeychainError`` if the migration failed. The source then still has the value,
    ///   except possibly after an ``KeychainError/Cause/interruption`` of its removal. In that
    ///   case, this keychain already has the value, or keeps a different one as the rule says.
    ///   Calling this method again once the cause is removed completes the migration. The code is
    ///   ``KeychainError/Code/unimplemented`` if the access control can't be identified, in which
    ///   case nothing was changed.
    ///
    /// The corresponding calls are `SecItemCopyMatching`, `SecItemAdd`, `SecItemCopyMatching` and
    /// `SecItemDelete`; for a change in place, `SecItemUpdate`.
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
            // Only a hook throws errors of other types, and this hook throws none.
            throw error as? KeychainError ?? KeychainError(.internalError)
        }
    }

    /// Moves a value from another keychain to this one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func migrate<Value: Sendable>(
        _ key: KeychainKey<Value>, from source: Keychain, account: String? = nil,
        onConflict rule: Migration.ConflictRule = .report
    ) async throws -> Migration.Outcome {
        try await BlockingPool.shared.run {
            try migrate(key, from: source, account: account, onConflict: rule)
        }
    }

    /// Moves all values of another keychain to this one, keeping their accounts. Secure Enclave
    /// keys stay where they are.
    ///
    /// Each value is moved as by `migrate(_:from:account:onConflict:)`. If the migration of one
    /// value fails, the others are still moved.
    ///
    /// An item whose access control can't be identified stays where it is, and its record has the
    /// error ``KeychainError/Code/unimplemented``. Move such an item individually, with a key that
    /// specifies an access control.
    ///
    /// ```swift
    /// let old = Keychain(service: "com.example.app")
    /// let new = Keychain(service: "com.example.app", accessibility: .whenUnlocked)
    /// let report = try new.migrateAll(from: old)  // in place
    /// ```
    ///
    /// - Parameters:
    ///   - source: The keychain that contains the values.
    ///   - rule: What to do if this keychain already contains a different value for an account.
    /// - Returns: The outcome for each item that `items()` of the source lists.
    /// - Throws: ``KeychainError`` if the items of the source can't be listed. In that case,
    ///   nothing was changed.
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
                    // Only a hook throws errors of other types, and this hook throws none.
                    let error = error as? KeychainError ?? KeychainError(.internalError)
                    return Migration.Record(source: account, account: account, error: error)
                }
            })
    }

    /// Moves all values of another keychain to this one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func migrateAll(
        from source: Keychain, onConflict rule: Migration.ConflictRule = .report
    ) async throws -> Migration.Report {
        try await BlockingPool.shared.run { try migrateAll(from: source, onConflict: rule) }
    }

    /// Moves one value, and calls a hook after each step.
    ///
    /// - Throws: `KeychainError`, or the error that the hook throws.
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
            // From here on, access only the item in the group in which it was found, even if the
            // source applies to all groups.
            var access = reading.inGroup(item.accessGroup)
            if item.accessControl != nil || !item.accessControlIsKnown {
                access = access.inOneContext
            }
            if try isHere(item, as: form.account) { return try changeInPlace(form, access, hook) }
            // `isHere` has found that the destination differs from the source as read above. Source
            // and destination can still be one item that was changed, or deleted and added again,
            // between the two reads. But a change increases the modification date, and a new item
            // gets a new reference. So if a third read finds the source with the same reference and
            // date as the first, source and destination are two different items, and stay so.
            guard let again = try access.attributes(), again.isVersion(item) else { continue }
            try requireAccessControl(of: item, for: form, access)
            return try MigrationRun(
                destination: self, form: form.completed(by: item), rule: rule, hook: hook
            ).run(KeychainSource(access: access))
        }
        throw reading.unsettled
    }

    /// Whether an item belongs to this keychain under the given account.
    ///
    /// A copied folder or a restored backup has the references of its original, so an item is only
    /// the same if its modification date is the same too. A copied item that has not changed since
    /// the copy is taken for the original. The two have the same value, so no value is lost.
    private func isHere(_ item: Item, as account: String) throws(KeychainError) -> Bool {
        guard item.isSynchronizable == isSynchronizable, item.account == account else {
            return false
        }
        if let group = accessGroup {
            guard group == item.accessGroup else { return false }
        }
        let place = access(.migrate, account).inGroup(item.accessGroup)
        do {
            return try place.attributes()?.isVersion(item) == true
        } catch {
            // The source can be another database, with a group that this program may not use in
            // this one. In that case, the item does not belong to this keychain.
            guard accessGroup == nil, error.code == .missingEntitlement else { throw error }
            return false
        }
    }

    /// Changes the label, accessibility and access control of an item in place.
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

    /// Ensures that no access control is lost because it can't be identified.
    private func requireAccessControl(
        of item: Item, for form: StoredForm, _ access: ItemAccess
    ) throws(KeychainError) {
        if form.accessControl != nil || item.accessControlIsKnown { return }
        guard try !access.opensForAnyone() else { return }
        throw access.failed(
            KeychainFailure(
                .unimplemented,
                "The item has an access control that can't be identified. Migrate it "
                    + "individually, with a key that specifies its access control. Nothing was "
                    + "changed."))
    }
}

extension Keychain.Item {
    /// Whether this is the same item as `other`, unchanged since `other` was read.
    fileprivate func isVersion(_ other: Keychain.Item) -> Bool {
        persistentReference == other.persistentReference
            && modificationDate == other.modificationDate
    }
}

extension StoredForm {
    /// This form, with the label and access control of an item where the form has none.
    fileprivate func completed(by item: Keychain.Item) -> StoredForm {
        var form = self
        form.label = label ?? item.label
        form.accessControl = accessControl ?? item.accessControl
        return form
    }
}

/// A value in a keychain.
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
        // Another thread or process has changed or removed the value, possibly by the same
        // migration.
        return try access.find(includesData: false) == nil ? .removed : .changed
    }
}
