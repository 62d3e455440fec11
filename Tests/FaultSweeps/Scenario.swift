// Scenario: a keychain in a certain state, and the steps that are interrupted.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms

package struct Scenario: Sendable, CustomStringConvertible {
    package let name: String
    /// The steps that are interrupted.
    package let steps: [Step]
    package let before: KeychainState
    /// Creates the keychain in its folder. Does nothing if the keychain shouldn't exist yet.
    let prepare: @Sendable (_ directory: String) throws -> Void
    /// The path of the keychain below the folder of a case. Creating the keychain also creates the
    /// folders above it.
    package static let place = "home/share/keychain"

    package var description: String { name }

    package var states: [KeychainState] { before.states(through: steps) }
    package var after: KeychainState { states[states.count - 1] }

    /// The files of the keychain before the steps.
    func image(in scratch: String) throws -> FolderImage {
        let root = scratch + "/prepare-" + name
        try FolderImage().layOut(at: root)
        defer { try? FileManager.default.removeItem(atPath: root) }
        try prepare(root + "/" + Self.place)
        return FolderImage(of: root)
    }

    // MARK: The scenarios

    private static let values = [0: 5, 1: 6, 2: 7, 3: 40]
    private static let filled = values.sorted { $0.key < $1.key }.map { Step.add($0.key, $0.value) }

    /// Each operation on a keychain, one at a time.
    package static let single: [Scenario] = [
        Scenario("first use", [.add(0, 5)], after: []),
        Scenario("add", [.add(4, 41)], after: filled),
        Scenario("save over", [.put(1, 8)], after: filled),
        Scenario("update", [.update(3, 3)], after: filled),
        Scenario("delete", [.delete(1)], after: filled),
        Scenario("replace", [.replace(1, 8)], after: filled + [.replace(1, 20)]),
        Scenario("remove", [.remove(1)], after: filled + [.replace(1, 20)]),
        Scenario("undo", [.undo(1, 6)], after: filled + [.replace(1, 20)]),
        Scenario("undo a deletion", [.undo(1, 6)], after: filled + [.remove(1)]),
        Scenario("rotate with versions", [.rotate], after: filled + [.replace(1, 8), .remove(1)]),
        Scenario("passcode set", [.setPasscode(1)], after: filled),
        Scenario("passcode change", [.changePasscode(1, 2)], after: filled + [.setPasscode(1)]),
        Scenario(
            "passcode remove", [.removePasscode(1)],
            after: filled + [.setPasscode(1), .add(1000, 9)]),
        Scenario("seal", [.seal], after: filled),
        Scenario("unseal", [.unseal], after: filled + [.seal]),
        Scenario("rotate", [.rotate], after: filled),
        Scenario("rotate and save", [.rotate, .put(1, 8)], after: filled),
        Scenario(
            "rotate with a passcode", [.unlock(1), .rotate],
            after: filled + [.setPasscode(1), .add(1000, 9)]),
        Scenario("restore", [.restore], after: filled, settingAside: [1]),
        Scenario("recover", [.recover], after: filled, leaving: [.put(1, 8), .delete(2)]),
        Scenario(
            "recover with a passcode", [.unlock(1), .recover], after: filled + [.setPasscode(1)],
            leaving: [.unlock(1), .put(1, 8), .delete(2)]),
        Scenario(
            "recover what is damaged", [.recover], after: filled,
            leaving: [.put(1, 8), .delete(2)], isDamaged: true),
        Scenario(
            "save beside a log that a killed process left", [.put(0, 9), .delete(3)],
            after: filled, leaving: [.put(1, 8), .delete(2)]),
        Scenario("convert", [.reopen, .put(4, 9)], of: .plain),
        Scenario("convert with a passcode", [.unlock(1), .reopen, .put(1, 8)], of: .passcode),
    ]

    /// Many operations one after the other.
    package static let day = Scenario(
        "a day",
        filled + [
            .put(1, 8), .delete(2), .emptyLog, .add(2, 60), .update(3, 2), .setPasscode(1),
            .add(1000, 9), .put(0, 10), .reopen, .changePasscode(1, 2), .delete(1), .seal,
            .add(1, 11), .emptyLog, .put(1000, 12), .rotate, .removePasscode(2), .unseal,
            .add(4, 66),
            .reopen, .put(4, 1), .delete(0),
        ], after: [])

    /// - Parameters:
    ///   - name: The name in reports.
    ///   - steps: The steps that are interrupted.
    ///   - history: Earlier steps, after which the keychain is closed normally.
    ///   - left: Steps after `history`. Their changes are only in the log, as a killed process
    ///     leaves them.
    ///   - setAside: The accounts whose items are set aside.
    ///   - isDamaged: Whether a byte of an index is changed at the end.
    init(
        _ name: String, _ steps: [Step], after history: [Step], leaving left: [Step] = [],
        settingAside setAside: [Int] = [], isDamaged: Bool = false
    ) {
        self.name = name
        self.steps = steps
        let states = KeychainState().states(through: history + left)
        var before = states[states.count - 1]
        for account in setAside {
            before.setAside[account] = before.values.removeValue(forKey: account)
        }
        self.before = before
        prepare = { directory in
            guard !history.isEmpty else { return }
            try Self.carryOut(history, in: directory)
            if !setAside.isEmpty { try Self.setAside(setAside, in: directory) }
            if !left.isEmpty { try Self.leave(left, in: directory) }
            if isDamaged { try Self.damageIndex(in: directory) }
        }
    }

    /// A keychain left by a program of an earlier version.
    private init(_ name: String, _ steps: [Step], of keychain: OldKeychain) {
        self.name = name
        self.steps = steps
        before = keychain.state
        prepare = { directory in try keychain.image.layOut(at: directory) }
    }

    private static func carryOut(_ steps: [Step], in directory: String) throws {
        if let failure = StepRunner.run(steps, in: directory) { throw failure }
    }

    /// Sets undamaged items aside, as a check does with damaged ones.
    private static func setAside(_ accounts: [Int], in directory: String) throws {
        let engine = try KeychainEngine.open(directory: directory, options: StepRunner.options)
        defer { engine.close() }
        let store = engine.store
        for account in accounts {
            var rows: [SealedRow] = []
            _ = try store.visit(
                Contents.query(account), visibleTo: Contents.caller, includesSecret: true, limit: 1
            ) { found, _ in
                if case .row(let row) = found { rows.append(row) }
                // A search for one item may visit it again.
                return rows.isEmpty
            }
            _ = try store.write(keybagGeneration: try store.header().keybagGeneration) {
                transaction throws(KeychainFailure) in
                for row in rows {
                    try transaction.setAside(row, reason: .foundByCheck, at: 1)
                }
            }
        }
    }

    /// Copies the files while the keychain is open, and puts them back after it is closed.
    private static func leave(_ steps: [Step], in directory: String) throws {
        var image = FolderImage()
        var runner = StepRunner(directory: directory)
        var failure: KeychainFailure?
        runner.run(steps) { number, error in
            failure = failure ?? error
            if number == steps.count - 1 { image = FolderImage(of: directory) }
        }
        if let failure { throw failure }
        try image.layOut(at: directory)
    }

    /// Changes a byte of the index on primary keys. This byte belongs to no item.
    private static func damageIndex(in directory: String) throws {
        let path = directory + "/keychain.db"
        guard var database = FileManager.default.contents(atPath: path) else {
            throw CocoaError(.fileReadUnknown)
        }
        database[RootPage.itemsKey.end - 100] ^= 1
        try database.write(to: URL(filePath: path))
        // The write created the file again, and other users can read the new file.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}
