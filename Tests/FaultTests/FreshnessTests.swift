// FreshnessTests: the verification that a freshness note records, while several processes write,
// after processes were killed, and after an attack on the log.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite(.serialized) struct FreshnessTests {
    private func options(_ folder: TemporaryFolder) -> EngineOptions {
        var options = EngineOptions.testing
        options.freshness = FreshnessOptions(folder: folder.path + "/run")
        return options
    }

    private func open(_ folder: TemporaryFolder) throws -> KeychainEngine {
        try KeychainEngine.open(directory: folder.path + "/keychain", options: options(folder))
    }

    @Test func `a verification stays valid while eight processes write`() throws {
        let folder = try TemporaryFolder()
        let engine = try open(folder)
        defer { engine.close() }
        // The log gets its salts with this save. They don't change while the processes write.
        try engine.save("first", Data())
        let state = engine.verification
        #expect(state.standing == .verified)
        let starts = (0..<8).map { _ in Pipe() }
        let children = try starts.enumerated().map { worker, start in
            try TestProgram(
                "fault-writer",
                ["crowd", folder.path + "/keychain", "\(worker)", folder.path + "/run"],
                input: start)
        }
        for child in children { #expect(child.line() == "opened") }
        for start in starts { try start.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }
        let acknowledged = children.flatMap { $0.lines() }
        for child in children { #expect(child.endedWell) }
        #expect(acknowledged.count == 8 * 40)
        // No process has verified the keychain again, which would have changed the time.
        #expect(engine.verification == state)
        #expect(try engine.check().isSound)
    }

    @Test func `after a process was killed, opening the keychain verifies it again`() throws {
        let folder = try TemporaryFolder()
        let made = try open(folder)
        try made.save("first", Data())
        made.close()
        let seed = randomSeed()
        var random = SeededGenerator(seed: seed)
        var next = 0
        for kill in 0..<40 {
            let place = "kill \(kill) of seed \(seed)"
            let child = try faultWriter(
                "write", folder.path + "/keychain", "\(next)", folder.path + "/run")
            for _ in 0..<Int.random(in: 1...25, using: &random) {
                next = try #require(
                    child.line().flatMap { Int($0) }, "\(place): the writer ended by itself")
            }
            child.kill()
            next += 1
            let engine = try open(folder)
            #expect(engine.verification.standing == .verified, "\(place)")
            engine.close()
        }
    }

    /// The log's last frame of a page gets the content of an earlier frame of the same page. The
    /// changed frame's tag is valid, as in a frame that a failed transaction left.
    @Test func `a log frame with outdated content and a valid tag is detected`() throws {
        let folder = try TemporaryFolder()
        let directory = folder.path + "/keychain"
        let made = try open(folder)
        try made.save("first", Data())
        made.close()
        let child = try faultWriter("write", directory, "0", folder.path + "/run")
        for _ in 0..<4 { _ = try #require(child.line()) }
        child.kill()

        let database = try Data(contentsOf: URL(filePath: directory + "/keychain.db"))
        let file = URL(filePath: directory + "/keychain.db-wal")
        var log = [UInt8](try Data(contentsOf: file))
        let frames = (1...LogForgery.frameCount(log)).filter {
            log[LogForgery.frame($0).lowerBound + 3] == UInt8(RootPage.items.rawValue)
        }
        let (earlier, last) = (try #require(frames.first), try #require(frames.last))
        try #require(earlier < last)
        log.replaceSubrange(
            LogForgery.frame(last).dropFirst(24), with: log[LogForgery.frame(earlier).dropFirst(24)]
        )
        PageSeal.seal(
            frame: last, of: &log,
            deviceKey: try PageSeal.deviceKey(besideDatabaseAt: directory + "/keychain.db"),
            salt: [UInt8](database[PageFormat.saltRange]))
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(LogForgery.summed(log)))
        try handle.close()

        let engine = try open(folder)
        defer { engine.close() }
        #expect(engine.verification.standing == .failed)
        let refusal = failure { _ = try engine.load("missing") }
        #expect(refusal?.cause == .damage)
    }
}
