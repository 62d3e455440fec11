import Foundation
import KeychainEngine
import KeychainModel
import Testing

@Suite(.serialized) struct FlipTests {
    /// Sweeps a file in two processes at once.
    private func sweep(_ master: TemporaryFolder, _ file: String) throws -> Int {
        let size = try #require(try master.contents()[file]).count
        let half = (size + 1) / 2
        let scratch = try TemporaryFolder()
        let children = try [(0, half), (half, size)].map { range in
            try Child(
                "sweep", master.path, scratch.path + "/\(range.0)", file, "\(range.0)", "\(range.1)"
            )
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
        #expect(flips == size)
        return flips
    }

    @Test func `no flipped byte of a small keychain gives a wrong answer`() throws {
        let master = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: master.path, options: .testing)
        for number in 0..<3 {
            _ = try engine.add(
                NewItem(
                    itemClass: .genericPassword,
                    attributes: [
                        .service: .string("fault"), .account: .string("item \(number)"),
                        .label: .string("label of item \(number)"),
                    ], protection: .afterFirstUnlock, data: Data("value \(number)".utf8)),
                as: caller)
        }
        engine.close()
        var flips = 0
        for file in ["keychain.db", "keybag", "device.key", "anchor"] {
            flips += try sweep(master, file)
        }
        print("every byte of a small keychain: \(flips) flips, 0 wrong answers, 0 crashes")
    }

    @Test func `no flipped byte of a log gives a wrong answer`() throws {
        let master = try TemporaryFolder()
        let child = try Child("leave-log", master.path)
        #expect(child.lines() == ["ready"])
        let flips = try sweep(master, "keychain.db-wal")
        print("every byte of a log: \(flips) flips, 0 wrong answers, 0 crashes")
    }

    @Test func `recovery brings back every item that is whole`() throws {
        let itemCount = 300
        let flips = 60
        let master = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: master.path, options: .testing)
        var expected: [String: Data] = [:]
        for number in 0..<itemCount + 20 {
            let data = Data("value \(number)".utf8) + Data(count: number * 37 % 6000)
            try engine.save("item \(number)", data)
            expected["item \(number)"] = data
        }
        for number in itemCount..<itemCount + 20 {
            try engine.delete(query("item \(number)"), tombstones: .automatic, as: caller)
            expected["item \(number)"] = nil
        }
        // Some of it stays in the log.
        let originals = try master.contents()
        engine.close()
        var random = SystemRandomNumberGenerator()
        var lostItems = 0
        var structural = 0
        for _ in 0..<flips {
            let folder = try TemporaryFolder()
            for (name, original) in originals {
                try folder.put(original, name)
            }
            let file = ["keychain.db", "keychain.db-wal"].randomElement(using: &random) ?? ""
            var content = try #require(originals[file])
            let offset = Int.random(in: content.indices, using: &random)
            content[offset] ^= 1 << UInt8.random(in: 0...7, using: &random)
            try folder.put(content, file)

            if (try? probe(folder, expected)) == nil { structural += 1 }
            let report = try KeychainEngine.recover(directory: folder.path, options: .testing)
            let rebuilt = try KeychainEngine.open(directory: folder.path, options: .testing)
            let missing = try expected.filter { account, data in
                let loaded = try rebuilt.load(account)
                #expect(loaded == nil || loaded == data, "\(file) \(offset): an older value")
                return loaded == nil
            }
            #expect(missing.count <= 1, "\(file) \(offset): \(missing.count) items lost")
            if !missing.isEmpty { #expect(!report.isComplete, "\(file) \(offset)") }
            lostItems += missing.count
            for number in itemCount..<itemCount + 20 {
                let loaded = try rebuilt.load("item \(number)")
                // Only a report that says so may be about items that were deleted.
                #expect(loaded == nil || !report.isVerified, "a deleted item came back")
            }
            #expect(try rebuilt.check().isSound)
            rebuilt.close()
        }
        print(
            "recoveries: \(flips) flips in \(itemCount) items, \(structural) of them in the "
                + "structure, \(lostItems) items lost whose own bytes were hit, 0 others")
    }

    /// Every load gives what was written, or an error; nil where some gave an error.
    private func probe(_ folder: TemporaryFolder, _ expected: [String: Data]) throws -> Bool {
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        for (account, data) in expected {
            let loaded = try engine.load(account)
            #expect(loaded == data, "a wrong or missing answer without an error")
        }
        return true
    }
}
