// Migration out of UserDefaults, where values lie readable in a file.

public import Foundation

extension Keychain {
    /// Moves values out of `UserDefaults` into this keychain.
    ///
    /// ```swift
    /// let report = keychain.migrate(
    ///     [.init("deviceId", to: .installation), .init("token", to: .token)],
    ///     from: UserDefaults.standard)
    /// guard report.isComplete else { … }
    /// ```
    ///
    /// Each value is saved, read back, compared and only then removed from the defaults. If the
    /// program ends half-way, nothing is lost, and the next call does the rest. A value of the
    /// keychain is never replaced unless the rule says so. One that fails doesn't keep the others
    /// from being moved.
    ///
    /// A removed value can remain in backups and on the medium of the disk. While this runs, no
    /// one else should write these keys of the defaults: they know no transactions. Values that
    /// are registered as defaults, or come from another domain, can't be removed; the outcome is
    /// ``Migration/Outcome/sourceRemains`` then.
    ///
    /// - Parameters:
    ///   - entries: What to move, and where to.
    ///   - defaults: The defaults, of any suite.
    ///   - rule: What happens if the keychain has another value already.
    /// - Returns: What was done about each entry, in their order.
    public func migrate(
        _ entries: [Migration.Entry], from defaults: UserDefaults,
        onConflict rule: Migration.ConflictRule = .report
    ) -> Migration.Report {
        Migration.Report(
            records: entries.map { entry in
                do {
                    return try migrate(entry, from: defaults, onConflict: rule) { _ in }
                } catch {
                    // Only a hook throws anything else.
                    let error = error as? KeychainError ?? KeychainError(.internalError)
                    return Migration.Record(
                        source: entry.defaultsKey, account: entry.account, error: error)
                }
            })
    }

    /// Moves values out of the `UserDefaults` of a suite into this keychain, without blocking the
    /// caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Parameters:
    ///   - entries: What to move, and where to.
    ///   - suiteName: The suite. nil: the standard defaults. A name that `UserDefaults` refuses
    ///     gives outcomes ``Migration/Outcome/failed`` with ``KeychainError/Code/param``.
    ///   - rule: What happens if the keychain has another value already.
    /// - Returns: What was done about each entry, in their order.
    /// - Throws: `CancellationError` if nothing was done.
    public func migrate(
        _ entries: [Migration.Entry], fromDefaultsOf suiteName: String?,
        onConflict rule: Migration.ConflictRule = .report
    ) async throws -> Migration.Report {
        try await BlockingPool.shared.run {
            // Apple refuses the global domain as the name of a suite.
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

    /// Moves one value, with a hook after each step.
    ///
    /// - Throws: `KeychainError`, or what the hook throws.
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

/// A value of UserDefaults.
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
            // Gone from memory and still in the file. Memory must not say otherwise, or the next
            // migration of this process would find nothing to do.
            defaults.set(object, forKey: entry.defaultsKey)
            return .remains
        }
        return defaults.object(forKey: entry.defaultsKey) == nil ? .removed : .remains
    }

    private func present() throws(KeychainError) -> Data? {
        // Takes in what other processes wrote. What it returns is about writing.
        _ = defaults.synchronize()
        guard let object = defaults.object(forKey: entry.defaultsKey) else { return nil }
        do {
            return try entry.bytes(object)
        } catch {
            // The same as for stored bytes that are no value; they stay in the defaults.
            var failure = KeychainError.decoding(error, Data(), access)
            failure.storedData = nil
            throw failure
        }
    }
}
