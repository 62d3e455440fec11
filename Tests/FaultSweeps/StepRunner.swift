// StepRunner: carries out steps, either in a process of the program `fault-writer` or in the
// process of the sweep itself. A sweep tests many cases in turn, for example by interrupting
// `fault-writer` at each system call.

import KeychainCrypto
package import KeychainEngine
package import KeychainCore
import KeychainSQLite
import Logging
import TestPrograms

/// Carries out steps on one keychain.
package struct StepRunner {
    private let directory: String
    private var engine: KeychainEngine?
    /// The passcode that unlocks the keychain after it was reopened.
    private var passcode: Int?

    package init(directory: String) {
        self.directory = directory
    }

    package static let options: EngineOptions = {
        var options = EngineOptions.testing
        options.hardware = SoftwareChip.ofAllProcesses
        // Damage is expected, and the answers to requests report it, so nothing is logged.
        options.log = Logger(label: "keychain", factory: { _ in SwiftLogNoOpLogHandler() })
        return options
    }()

    /// Carries out steps in order, and stops at the first one for which all attempts fail.
    ///
    /// - Parameters:
    ///   - steps: The steps.
    ///   - attempts: The number of attempts for each step.
    ///   - note: Called after each attempt, with the number of the step and the failure of the
    ///     attempt, or `nil` if the attempt succeeded.
    package mutating func run(
        _ steps: [Step], attempts: Int = 1, _ note: (Int, KeychainFailure?) -> Void
    ) {
        defer { close() }
        for (number, step) in steps.enumerated() {
            var isDone = false
            for _ in 0..<attempts where !isDone {
                do throws(KeychainFailure) {
                    try carryOut(step)
                    isDone = true
                    note(number, nil)
                } catch {
                    note(number, error)
                }
            }
            if !isDone { return }
        }
    }

    /// Carries out steps in order, with one attempt for each.
    /// - Returns: The failure, or `nil` if all steps succeeded.
    package static func run(_ steps: [Step], in directory: String) -> KeychainFailure? {
        var failure: KeychainFailure?
        var runner = StepRunner(directory: directory)
        runner.run(steps) { _, error in failure = failure ?? error }
        return failure
    }

    private mutating func close() {
        engine?.close()
        engine = nil
    }

    private mutating func opened() throws(KeychainFailure) -> KeychainEngine {
        if let engine { return engine }
        if let passcode, try KeychainEngine.isPresent(in: directory) {
            _ = try KeychainEngine.convert(
                directory: directory, passcode: Self.secret(passcode), options: Self.options)
        }
        let engine = try KeychainEngine.open(directory: directory, options: Self.options)
        self.engine = engine
        if let passcode { try engine.unlock(passcode: Self.secret(passcode)) }
        return engine
    }

    private static func secret(_ passcode: Int) -> SecretBytes {
        SecretBytes(copying: Contents.passcode(passcode))
    }

    /// Whether the account's item has the value already. If it has, the steps `replace` and `undo`
    /// do nothing. These steps keep the previous version of the item, so a repetition would keep
    /// another version.
    private mutating func holds(_ account: Int, _ value: Int) throws(KeychainFailure) -> Bool {
        do throws(KeychainFailure) {
            let found = try opened().perform(
                FindItems(Contents.query(account), Retrieval(includesData: true)),
                as: Contents.caller)
            return found.first?.data == Contents.data(value)
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return false
        }
    }

    private mutating func carryOut(_ step: Step) throws(KeychainFailure) {
        let caller = Contents.caller
        switch step {
        case .add(let account, let value):
            _ = try opened().perform(AddItem(Contents.item(account, value)), as: caller)
        case .update(let account, let value):
            try opened().perform(
                UpdateItems(Contents.query(account), ItemChanges(data: Contents.data(value))),
                as: caller)
        case .put(let account, let value):
            try opened().perform(
                PutItem(
                    Contents.item(account, value), orChange: Contents.query(account),
                    ItemChanges(data: Contents.data(value))), as: caller)
        case .delete(let account):
            try opened().perform(
                DeleteItems(Contents.query(account), tombstones: .automatic), as: caller)
        case .replace(let account, let value):
            if try holds(account, value) { return }
            try opened().perform(
                UpdateItems(
                    Contents.query(account), ItemChanges(data: Contents.data(value)),
                    keepsVersions: true), as: caller)
        case .remove(let account):
            try opened().perform(
                DeleteItems(
                    Contents.query(account), tombstones: .automatic, keepsVersions: true),
                as: caller)
        case .undo(let account, let value):
            let engine = try opened()
            let query = Contents.query(account)
            let wanted = Contents.data(value)
            let version = try engine.perform(FindVersions(query, includesData: true), as: caller)
                .first { $0.item.data == wanted }
            guard let version, try !holds(account, value) else { return }
            try engine.perform(RestoreVersion(query, number: version.number), as: caller)
        case .setPasscode(let new):
            try opened().setPasscode(Self.secret(new))
            passcode = new
        case .changePasscode(let old, let new):
            try opened().changePasscode(from: Self.secret(old), to: Self.secret(new))
            passcode = new
        case .removePasscode(let old):
            try opened().removePasscode(Self.secret(old))
            passcode = nil
        case .unlock(let known):
            // A keychain that has to be recovered can't be opened, so this step doesn't open it:
            // `opened` unlocks the keychain when a later step opens it.
            passcode = known
            try engine?.unlock(passcode: Self.secret(known))
        case .seal:
            try opened().sealDeviceKey(provedBy: passcode.map { .passcode(Self.secret($0)) })
        case .rotate:
            try opened().rotate(provedBy: passcode.map { .passcode(Self.secret($0)) })
        case .unseal: try opened().unsealDeviceKey()
        case .recover:
            close()
            _ = try KeychainEngine.recover(
                directory: directory, passcode: passcode.map(Self.secret), options: Self.options)
        case .restore:
            let engine = try opened()
            let rows = Set(try engine.setAsideRows().map(\.row.reference))
            let outcomes = try engine.restoreSetAside(rows)
            guard outcomes.allSatisfy(\.isRestored) else {
                throw KeychainFailure(.internalError, "Not restored: \(outcomes).")
            }
        case .emptyLog: try opened().store.emptyLog()
        case .reopen:
            close()
            _ = try opened()
        }
    }
}
