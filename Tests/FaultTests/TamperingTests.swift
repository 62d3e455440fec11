// The result of each operation on a keychain changed by an attacker who can write its files, has no
// keys, and may have earlier copies.
//   (1) No answer is wrong: an item is returned with its value, or damage is reported. If a
//       complete rollback can't be detected, the answers are those of the earlier time.
//   (2) A check reports the change, unless the change is harmless or an undetectable complete
//       rollback.
//   (3) A recovery results in a sound keychain, loses at most `lostCount` items, and reports
//       whether an item may be outdated. A recovery without the current keybag is refused.
//   (4) Documentation/ThreatModel.md has the table of these results.

import FaultSweeps
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct TamperingTests {
    @Test func `each kind of tampering has the result that the threat model documents`()
        async throws
    {
        let rows = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, tampering) in Tampering.all.enumerated() {
                group.addTask { (index, try row(tampering)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let table = rows.sorted { $0.key < $1.key }.map(\.value)
        let document = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Documentation/ThreatModel.md")
        let written = try String(contentsOf: document, encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let block = written.filter { $0.hasSuffix(Self.mark) }
        #expect(block == table, "\(table.joined(separator: "\n"))")
    }

    /// The end of the table's rows, which distinguishes them from those of other tables.
    private static let mark = " restored |"

    private func row(_ tampering: Tampering) throws -> String {
        let cells = [
            tampering.description, try get(tampering), try set(tampering), try check(tampering),
            try recover(tampering), try restore(tampering),
        ]
        return "| " + cells.joined(separator: " | ") + Self.mark
    }

    // MARK: Operations

    private func get(_ tampering: Tampering) throws -> String {
        let found = try expectNoLie(try tampered(tampering), tampering)
        if tampering.isHarmless { #expect(found.latest == Tampering.accounts.count) }
        if found.earlier > 0 { return "an earlier item" }
        return switch found.latest {
        case 0: "an error"
        case Tampering.accounts.count: "the item"
        default: "the item, or an error"
        }
    }

    private func set(_ tampering: Tampering) throws -> String {
        let folder = try tampered(tampering)
        let refusal = failure {
            let engine = try open(folder, tampering)
            defer { engine.close() }
            try engine.save("new", Data("new".utf8))
            #expect(try engine.load("new") == Data("new".utf8))
        }
        if tampering.isHarmless { #expect(refusal == nil) }
        #expect(refusal.map(Self.tellsOfDamage) ?? true, "\(tampering): \(refusal as Any)")
        try expectNoLie(folder, tampering)
        return refusal == nil ? "made" : "refused"
    }

    private func check(_ tampering: Tampering) throws -> String {
        let folder = try tampered(tampering)
        let isFine = tampering.isHarmless || tampering.isUnnoticed
        do {
            let engine = try open(folder, tampering)
            defer { engine.close() }
            let isSound = try engine.check().isSound
            #expect(isSound == isFine, "\(tampering)")
            return isSound ? "sound" : "damage"
        } catch let failure as KeychainFailure {
            #expect(Self.tellsOfDamage(failure) && !isFine, "\(tampering): \(failure)")
            return "damage"
        }
    }

    private func recover(_ tampering: Tampering) throws -> String {
        let folder = try tampered(tampering)
        let report: RecoveryReport
        do {
            report = try KeychainEngine.recover(
                directory: folder.path, passcode: tampering.code, options: folder.options)
        } catch {
            #expect(error.status == .invalidKeychain, "\(tampering): \(error)")
            #expect(tampering.lostCount == Tampering.accounts.count, "\(tampering)")
            return "nothing: it asks for the keybag"
        }
        let engine = try open(folder, tampering)
        defer { engine.close() }
        #expect(try engine.check().isSound, "\(tampering)")
        var lostCount = 0
        for account in Tampering.accounts {
            do {
                let found = try engine.load(account)
                let isLatest = found == Tampering.data(account)
                // A recovery that restores an earlier value must report its result as unconfirmed,
                // unless the rollback is undetectable.
                let isTold = !report.isConfirmed || tampering.isUnnoticed
                #expect(isLatest || isTold && isEarlier(found), "\(tampering), \(account)")
            } catch {
                #expect(error.cause == .damage || error.status == .decode)
                lostCount += 1
            }
        }
        #expect(lostCount <= tampering.lostCount, "\(tampering): \(report)")
        #expect(report.isConfirmed || !report.isComplete && report.hasUnknownLoss)
        let count =
            switch lostCount {
            case 0: "every item"
            case report.doubtfulItems.count: "none: sets the page's items aside"
            default: "every item but \(lostCount)"
            }
        return count + (report.isConfirmed ? "" : ", unconfirmed")
    }

    private func restore(_ tampering: Tampering) throws -> String {
        let folder = try tampered(tampering)
        let refusal = failure {
            let engine = try open(folder, tampering)
            defer { engine.close() }
            #expect(try engine.restoreSetAside().allSatisfy { !$0.isRestored }, "\(tampering)")
        }
        #expect(refusal.map(Self.tellsOfDamage) ?? true, "\(tampering): \(refusal as Any)")
        try expectNoLie(folder, tampering)
        return "nothing"
    }

    /// Looks up every item, each with a newly opened keychain.
    /// - Returns: The numbers of items found with their latest and with an earlier value.
    @discardableResult
    private func expectNoLie(
        _ folder: TemporaryFolder, _ tampering: Tampering
    ) throws -> (latest: Int, earlier: Int) {
        var count = (latest: 0, earlier: 0)
        for account in Tampering.accounts {
            let refusal = failure {
                let engine = try open(folder, tampering)
                defer { engine.close() }
                let found = try engine.load(account)
                if tampering.isUnnoticed, isEarlier(found) {
                    count.earlier += 1
                } else {
                    #expect(found == Tampering.data(account), "\(tampering), \(account)")
                    count.latest += 1
                }
            }
            if let refusal {
                #expect(
                    Self.tellsOfDamage(refusal) || refusal.status == .decode,
                    "\(tampering), \(account): \(refusal)")
            }
        }
        return count
    }

    /// Whether the data is the first item's earlier value.
    private func isEarlier(_ data: Data?) -> Bool {
        data == Data(Tampering.data(Tampering.accounts[0]).reversed())
    }

    /// Whether the failure reports damage, or a keybag that doesn't belong to the other files.
    private static func tellsOfDamage(_ failure: KeychainFailure) -> Bool {
        failure.cause == .damage || failure.status == .invalidKeychain
    }

    /// Opens the keychain as a newly started program does. If the tampering is about a passcode,
    /// unlocks the keychain with the current one.
    private func open(_ folder: TemporaryFolder, _ tampering: Tampering) throws -> KeychainEngine {
        let engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
        do {
            if let code = tampering.code { try engine.unlock(passcode: code) }
            return engine
        } catch {
            engine.close()
            throw error
        }
    }

    private func tampered(_ tampering: Tampering) throws -> TemporaryFolder {
        let folder = try Self.keychain(withLog: tampering.hasLog)
        try tampering.change(folder)
        return folder
    }

    /// Creates a closed keychain or, with `hasLog`, a keychain whose last commits are only in the
    /// log, as after a killed process.
    static func keychain(withLog hasLog: Bool = false) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
        defer { engine.close() }
        for account in Tampering.accounts {
            if hasLog, account == Tampering.accounts[2] { try engine.store.emptyLog() }
            var attributes = query(account).attributes
            attributes[.label] = .string("label of " + account)
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: attributes,
                        protection: .afterFirstUnlock, data: Tampering.data(account))), as: caller)
        }
        guard hasLog else { return folder }
        let copy = try TemporaryFolder()
        for (name, content) in try folder.contents() { try copy.put(content, name) }
        return copy
    }

    // MARK: An attacker with the device key

    @Test(arguments: [
        "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END",
        "CREATE TABLE other(id)", "DROP INDEX items_k2", "CREATE INDEX other ON items(meta)",
    ])
    func `a changed schema is refused even if the tags of its pages are valid`(change: String)
        throws
    {
        let folder = try Self.keychain()
        let path = folder.path + "/keychain.db"
        try execute(change, onDatabaseAt: path)
        try PageSeal.change(path)
        let refusal = failure {
            try KeychainEngine.open(directory: folder.path, options: .testing).close()
        }
        #expect(refusal?.cause == .damage && refusal?.reason.contains("recover") == true)
    }
}

extension Tampering {
    /// The current passcode.
    fileprivate var code: SecretBytes? {
        passcode.map { SecretBytes(copying: Array($0.utf8)) }
    }
}
