// FlipTests: keychains with flipped bytes or bits: the answers to requests, what a recovery brings
// back, and what `check` detects.

import FaultSweeps
import Foundation
import KeychainCore
import KeychainEngine
import TestPrograms
import Testing

@Suite(.serialized) struct FlipTests {
    /// In the database and its write-ahead log, every seventh byte is flipped, so that each
    /// position within a word occurs. The long sweep `flips` flips every byte that isn't zero.
    private func step(_ file: String) -> Int { file.hasPrefix("keychain.db") ? 7 : 1 }

    /// Flips bytes of a file, one at a time, in two concurrent processes.
    /// - Returns: The number of flips.
    private func sweep(_ master: TemporaryFolder, _ file: String) throws -> Int {
        let size = try #require(try master.contents()[file]).count
        let step = step(file)
        let half = (size + 1) / 2 / step * step
        let scratch = try TemporaryFolder()
        let children = try [(0, half), (half, size)].map { range in
            try faultWriter(
                "sweep", master.path, scratch.path + "/\(range.0)", file, "\(range.0)",
                "\(range.1)", "\(step)")
        }
        var flips = 0
        for child in children {
            let lines = child.lines()
            #expect(child.endedWell, "a flip in \(file) ended the process after: \(lines)")
            let summary = try #require(lines.last).split(separator: " ")
            flips += try #require(Int(summary[1]))
            #expect(summary[3] == "0", "\(file): \(lines.joined(separator: "; "))")
            print("flips in \(file): \(summary.joined(separator: " "))")
        }
        #expect(flips == (size + step - 1) / step)
        return flips
    }

    @Test func `no flipped byte in a small keychain causes a wrong answer`() throws {
        let master = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: master.path, options: .testing)
        for number in 0..<3 {
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword,
                        attributes: [
                            .service: .string("fault"), .account: .string("item \(number)"),
                            .label: .string("label of item \(number)"),
                        ], protection: .afterFirstUnlock, data: Data("value \(number)".utf8))),
                as: caller)
        }
        engine.close()
        var flips = 0
        for file in ["keychain.db", "keybag", "device.key", "anchor"] {
            flips += try sweep(master, file)
        }
        print("bytes of a small keychain: \(flips) flips")
    }

    @Test func `no flipped byte in a write-ahead log causes a wrong answer`() throws {
        let master = try TemporaryFolder()
        let child = try faultWriter("leave-log", master.path)
        #expect(child.lines() == ["ready"])
        let flips = try sweep(master, "keychain.db-wal")
        print("bytes of a log: \(flips) flips")
    }

    /// The default seed of the random flips. Most failure messages name the seed and the flip.
    private static let seed: UInt64 = 20_261_121

    @Test func `after a flipped bit, a recovery brings back every item or reports its loss`() throws
    {
        let itemCount = 300
        let flips = Int(ProcessInfo.processInfo.environment["FLIPS"] ?? "") ?? 60
        let seed = UInt64(ProcessInfo.processInfo.environment["SEED"] ?? "") ?? Self.seed
        try #require(flips > 0)
        let master = try TemporaryFolder()
        let expected = try fill(master, itemCount: itemCount, deletedCount: 20)
        let originals = expected.files
        var random = SeededGenerator(seed: seed)
        var tally = (structural: 0, lost: 0, doubtful: 0)
        for flip in 0..<flips {
            let folder = try TemporaryFolder()
            for (name, original) in originals { try folder.put(original, name) }
            let file = ["keychain.db", "keychain.db-wal"].randomElement(using: &random) ?? ""
            var content = try #require(originals[file])
            let offset = Int.random(in: content.indices, using: &random)
            content[offset] ^= 1 << UInt8.random(in: 0...7, using: &random)
            try folder.put(content, file)
            let place = "flip \(flip) of seed \(seed): \(file) at \(offset)"

            if (try? probe(folder, expected.values)) == nil {
                tally.structural += 1
                // A damaged write-ahead log is kept, so that the recovery can read it.
                let isChanged = try folder.contents()["keychain.db-wal"] != content
                #expect(file == "keychain.db" || !isChanged, "\(place): the log was changed")
            }
            let report = try KeychainEngine.recover(directory: folder.path, options: .testing)
            let rebuilt = try KeychainEngine.open(directory: folder.path, options: .testing)
            #expect(report.damagedItems.isEmpty || !report.isComplete, "\(place)")
            tally.doubtful += report.doubtfulItems.count
            var missing: [String] = []
            for (account, data) in expected.values {
                // A missing item is never reported as "not found".
                do throws(KeychainFailure) {
                    let loaded = try rebuilt.load(account)
                    #expect(loaded == data, "\(place): \(account), \(report)")
                } catch {
                    #expect(error.status == .decode, "\(place): \(account), \(report)")
                    missing.append(account)
                }
            }
            // A flip makes at most one item unreadable, and the report is then not complete. Other
            // missing items are rows in doubt: they are set aside, and the report lists them.
            let illegibleCount = missing.count - report.doubtfulItems.count
            #expect(illegibleCount <= (report.isComplete ? 0 : 1), "\(place): \(missing)")
            #expect(missing.isEmpty || !report.isComplete, "\(place): \(missing)")
            tally.lost += missing.count
            for number in itemCount..<itemCount + 20 {
                let loaded = try? rebuilt.load("item \(number)")
                #expect(loaded == nil, "\(place): a deleted item came back, \(report)")
            }
            #expect(try rebuilt.check().isSound, "\(place)")
            rebuilt.close()
        }
        print(
            "recoveries: \(flips) flips in a keychain of \(itemCount) items; after "
                + "\(tally.structural) of them, opening or loading failed before the recovery; "
                + "\(tally.lost) items lost, \(tally.doubtful) rows left in doubt")
    }

    /// Adds items of many sizes, then deletes some of them. Part of the data is only in the
    /// write-ahead log.
    /// - Returns: The secrets of the remaining items, and the files.
    private func fill(
        _ folder: TemporaryFolder, itemCount: Int, deletedCount: Int
    ) throws -> (values: [String: Data], files: [String: Data]) {
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        var values: [String: Data] = [:]
        for number in 0..<itemCount + deletedCount {
            let data = Data("value \(number)".utf8) + Data(count: number * 37 % 6000)
            try engine.save("item \(number)", data)
            values["item \(number)"] = data
        }
        for number in itemCount..<itemCount + deletedCount {
            try engine.perform(
                DeleteItems(query("item \(number)"), tombstones: .automatic), as: caller)
            values["item \(number)"] = nil
        }
        return (values, try folder.contents())
    }

    /// Loads all items and expects the values that were written.
    /// - Throws: The error of opening the keychain, or of the first load that fails.
    private func probe(_ folder: TemporaryFolder, _ expected: [String: Data]) throws {
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        for (account, data) in expected {
            let loaded = try engine.load(account)
            #expect(loaded == data, "a wrong or missing answer without an error")
        }
    }
}

@Suite(.serialized) struct CheckTests {
    @Test func `a check verifies the count of damaged rows that were set aside`() throws {
        let folder = try TemporaryFolder()
        let first = try KeychainEngine.open(directory: folder.path, options: .testing)
        try first.save("a", Data("secret".utf8))
        first.close()
        // `PageSeal` also corrects the page's tag. With a wrong tag, the page would count as
        // damaged, and the check would set nothing aside.
        try PageSeal.change(folder.path + "/keychain.db") { bytes in
            let place = try #require(Data(bytes).firstRange(of: Data("KCS2".utf8))).lowerBound
            bytes[place + 60] ^= 1
        }
        let second = try KeychainEngine.open(directory: folder.path, options: .testing)
        #expect(try second.check(settingAside: true).setAsideCount == 1)
        #expect(try second.check().problems.isEmpty)
        second.close()

        try execute("DELETE FROM set_aside", onDatabaseAt: folder.path + "/keychain.db")
        let third = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { third.close() }
        let problems = try third.check().problems
        #expect(problems == ["the database's number of rows set aside is 0 and should be 1"])
    }
}
