// FlipSweep: opens a keychain again and again, each time with one byte of one file changed, and
// reports wrong answers. A crash ends the process, and the test notices that.
//   The correct answer is the written data for an item that exists, and "not found" for an item
//   that doesn't. Any error except "not found" is accepted, too. These answers are wrong: other
//   data; "not found" for an item that exists; an item that was never added; a list with fewer
//   items than can be loaded; and errors that all report damaged items, none of which names one.

import Foundation
import KeychainEngine
import KeychainCore

struct FlipSweep {
    let master: String
    let work: String
    let file: String
    let range: Range<Int>
    let step: Int

    private static let leftOut: Set<String> = ["in-use", "lock", "keychain.db-shm"]
    private let files = FileManager.default

    func run() throws {
        let originals = try readMaster()
        let accounts = (0..<(originals["keychain.db-wal"] == nil ? 3 : 4)).map { "item \($0)" }
        try files.createDirectory(
            atPath: work, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        defer { try? files.removeItem(atPath: work) }
        var tally = Tally()
        let end = min(range.upperBound, originals[file]?.count ?? 0)
        for offset in stride(from: range.lowerBound, to: end, by: step) {
            try layOut(originals, flipping: offset)
            let before = tally.wrong.count
            probe(accounts, &tally)
            if tally.wrong.count > before { print("offset \(offset): \(tally.wrong.last ?? "")") }
            tally.flips += 1
        }
        print(
            "flips \(tally.flips) wrong \(tally.wrong.count) whole \(tally.whole) "
                + "item \(tally.itemDamage) structure \(tally.structureDamage)")
    }

    private struct Tally {
        var flips = 0
        var wrong: [String] = []
        /// The number of changes after which no operation failed.
        var whole = 0
        /// The number of changes after which every failure reported a damaged item.
        var itemDamage = 0
        /// The number of changes after which a failure reported anything but a damaged item.
        var structureDamage = 0
    }

    private func readMaster() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try files.contentsOfDirectory(atPath: master)
        where !Self.leftOut.contains(name) {
            contents[name] = try Data(contentsOf: URL(filePath: master + "/" + name))
        }
        return contents
    }

    private func layOut(_ originals: [String: Data], flipping offset: Int) throws {
        for name in try files.contentsOfDirectory(atPath: work) where name != "in-use" {
            try files.removeItem(atPath: work + "/" + name)
        }
        for (name, original) in originals {
            var content = original
            if name == file { content[offset] ^= UInt8(1 + offset * 37 % 255) }
            guard
                files.createFile(
                    atPath: work + "/" + name, contents: content,
                    attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    private func probe(_ accounts: [String], _ tally: inout Tally) {
        var statuses: [Status] = []
        var loaded = 0
        var named = false
        func note(_ failure: KeychainFailure, _ what: String) {
            statuses.append(failure.status)
            if failure.status == .decode, failure.item != nil { named = true }
            if failure.status == .itemNotFound { tally.wrong.append("not found: \(what)") }
        }
        do throws(KeychainFailure) {
            let engine = try KeychainEngine.open(directory: work, options: .testing)
            defer { engine.close() }
            for account in accounts {
                let byLabel = ItemQuery(
                    itemClass: .genericPassword,
                    attributes: [.label: .string("label of " + account)])
                for (wanted, what) in [(query(account), account), (byLabel, "label " + account)] {
                    do throws(KeychainFailure) {
                        let found = try engine.perform(
                            FindItems(
                                wanted, Retrieval(includesData: true, includesAttributes: false)),
                            as: caller)
                        if found.first?.data != Data(account.replacing("item", with: "value").utf8)
                        {
                            tally.wrong.append("other data: \(what)")
                        }
                        if what == account { loaded += 1 }
                    } catch {
                        note(error, what)
                    }
                }
            }
            do throws(KeychainFailure) {
                let all = ItemQuery(
                    itemClass: .genericPassword, attributes: [.service: .string("fault")])
                let listed = try engine.perform(FindItems(all, Retrieval(limit: nil)), as: caller)
                    .count
                if listed < loaded { tally.wrong.append("the list has \(listed) of \(loaded)") }
            } catch {
                note(error, "list")
            }
            do throws(KeychainFailure) {
                _ = try engine.perform(FindItems(query("nobody"), Retrieval()), as: caller)
                tally.wrong.append("found an item that doesn't exist")
            } catch {
                if error.status != .itemNotFound { statuses.append(error.status) }
            }
        } catch {
            note(error, "open")
        }
        if statuses.isEmpty {
            tally.whole += 1
        } else if statuses.allSatisfy({ $0 == .decode }) {
            tally.itemDamage += 1
            if !named { tally.wrong.append("an item's damage without its reference") }
        } else {
            tally.structureDamage += 1
        }
    }
}
