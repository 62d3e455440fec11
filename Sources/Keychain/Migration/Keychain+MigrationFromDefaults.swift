// Keychain+MigrationFromDefaults: migrates values from UserDefaults, where they are stored in a
// file in plaintext.

public import Foundation

extension Keychain {
    /// Moves values from `UserDefaults` to this keychain.
    ///
    /// ```swift
    /// let report = keychain.migrate(
    ///     [.init("deviceId", to: .installation), .init("token", to: .token)],
    ///     from: UserDefaults.standard)
    /// guard report.isComplete else { … }
    /// ```
    ///
    /// Each value is saved, read back and compared, and only then removed from the defaults. If the
    /// program ends at any point, nothing is lost, and the next call completes the migration. A
    /// different value in the keychain is replaced only if `onConflict` is
    /// ``Migration/ConflictRule/keepSource``. With
    /// ``Migration/ConflictRule/keepDestination``, the keychain's value is kept and the value in
    /// the defaults is removed. With ``Migration/ConflictRule/report``, both values are kept. If
    /// one value fails, the others are still moved.
    ///
    /// A removed value can remain in backups and on the storage medium. While the migration runs,
    /// no other code should write these keys, because `UserDefaults` has no transactions. Values
    /// that are registered as defaults or come from another domain can't be removed; the outcome is
    /// then ``Migration/Outcome/sourceRemains``.
    ///
    /// - Parameters:
    ///   - entries: The values to move, and their destinations.
    ///   - defaults: The defaults, of any suite.
    ///   - rule: What to do if the keychain already contains a different value.
    /// - Returns: The outcome for each entry, in the order of the entries.
    public func migrate(
        _ entries: [Migration.Entry], from defaults: UserDefaults,
        onConflict rule: Migration.ConflictRule = .report
    ) -> Migration.Report {
        Migration.Report(
            records: entries.map { entry in
                do {
                    return try migrate(entry, from: defaults, onConflict: rule) { _ in }
                } catch {
                    // The migration throws `KeychainError`. Only the hook could throw an error of
                    // another type, and the hook above is an empty closure.
                    let error = error as? KeychainError ?? KeychainError(.internalError)
                    return Migration.Record(
                        source: entry.defaultsKey, account: entry.account, error: error)
                }
            })
    }

    /// Moves values from the `UserDefaults` of a suite to this keychain, without blocking the
    /// caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Parameters:
    ///   - entries: The values to move, and their destinations.
    ///   - suiteName: The name of the suite, or `nil` for the standard defaults. If `UserDefaults`
    ///     rejects the name, each outcome is ``Migration/Outcome/failed`` with
    ///     ``KeychainError/Code/param``.
    ///   - rule: What to do if the keychain already contains a different value.
    /// - Returns: The outcome for each entry, in the order of the entries.
    /// - Throws: `CancellationError` if the task was canceled before the migration began.
    public func migrate(
        _ entries: [Migration.Entry], fromDefaultsOf suiteName: String?,
        onConflict rule: Migration.ConflictRule = .report
    ) async throws -> Migration.Report {
        try await BlockingPool.shared.run {
            // Apple's UserDefaults rejects the global domain as the name of a suite.
            guard
                let defaults = suiteName.map({ UserDefaults(suiteName: $0) })
                    ?? UserDefaults.standard
            else {
                return Migration.Report(
                    records: entries.map {
                        Migration.Record(
                            source: $0.defaultsKey, account: $0.account,
                            error: KeychainError(.param, operation: .migrate))
                    })
            }
            return migrate(entries, from: defaults, onConflict: rule)
        }
    }

    /// Moves one value, and calls a hook after each step.
    ///
    /// - Throws: `KeychainError`, or the error that the hook throws.
    package func migrate(
        _ entry: Migration.Entry, from defaults: UserDefaults,
        onConflict rule: Migration.ConflictRule, hook: @escaping MigrationHook
    ) throws -> Migration.Record {
        let run = MigrationRun(destination: self, form: entry.form, rule: rule, hook: hook)
        let outcome = try run.run(
            DefaultsSource(
                defaults: defaults, entry: entry, access: access(.migrate, entry.account)))
        return Migration.Record(
            source: entry.defaultsKey, account: entry.account, outcome: outcome)
    }
}

/// A value in UserDefaults.
private struct DefaultsSource: MigrationSource {
    let defaults: UserDefaults
    let entry: Keychain.Migration.Entry
    let access: ItemAccess
    private var found: Data?

    init(defaults: UserDefaults, entry: Keychain.Migration.Entry, access: ItemAccess) {
        self.defaults = defaults
        self.entry = entry
        self.access = access
    }

    mutating func read() throws(KeychainError) -> Data? {
        found = try present()
        return found
    }

    mutating func remove() throws(KeychainError) -> Removal {
        guard let found else { return .removed }
        guard let now = try present() else { return .removed }
        guard entry.form.isSame(now, found) else { return .changed }
        let object = defaults.object(forKey: entry.defaultsKey)
        defaults.removeObject(forKey: entry.defaultsKey)
        guard defaults.synchronize() else {
            // The value was removed from memory but is still in the file. Restore it in memory,
            // because otherwise the next migration in this process would find nothing to do.
            defaults.set(object, forKey: entry.defaultsKey)
            return .remains
        }
        return defaults.object(forKey: entry.defaultsKey) == nil ? .removed : .remains
    }

    private func present() throws(KeychainError) -> Data? {
        // Load changes by other processes. The result of `synchronize` is ignored: it only says
        // whether writing succeeded.
        _ = defaults.synchronize()
        guard let object = defaults.object(forKey: entry.defaultsKey) else { return nil }
        do {
            return try entry.bytes(object)
        } catch {
            // Report an object that can't be converted to bytes like stored bytes that can't be
            // decoded, but without the bytes. The object stays in the defaults.
            var failure = KeychainError.decoding(error, Data(), access)
            failure.storedData = nil
            throw failure
        }
    }
}
