// KillTests: processes that are killed while they write, and processes that write at the same time.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

/// The expected items after a sequence of steps. The program fault-writer carries out the same
/// steps.
private struct Oracle {
    private(set) var values: [String: Data] = [:]

    static let accounts = (0..<16).map { "account \($0)" }
    /// The common prefix of the account names.
    var prefix = ""

    mutating func apply(_ number: Int) {
        let account = prefix + "account \(number * 7 % 16)"
        guard number % 5 != 4 else {
            values[account] = nil
            return
        }
        let padding = Data(
            repeating: UInt8(truncatingIfNeeded: number), count: number * 131 % 9000)
        values[account] = Data("value \(number)\n".utf8) + padding
    }
}

@Suite(.serialized) struct KillTests {
    @Test func `no acknowledged write is lost by kill -9`() throws {
        let kills = 200
        let folder = try TemporaryFolder()
        let seed = randomSeed()
        var random = SeededGenerator(seed: seed)
        var oracle = Oracle()
        var next = 0
        var acknowledged = 0
        var carriedOut = 0
        for kill in 0..<kills {
            let place = "kill \(kill) of seed \(seed)"
            let child = try faultWriter("write", folder.path, "\(next)")
            // The writer is killed after a random number of acknowledgements.
            let wanted = Int.random(in: 1...25, using: &random)
            var last = next - 1
            for _ in 0..<wanted {
                last = try #require(
                    child.line().flatMap { Int($0) }, "\(place): the writer ended by itself")
            }
            child.kill()
            last = child.lines().last.flatMap { Int($0) } ?? last
            if last >= next { for number in next...last { oracle.apply(number) } }
            acknowledged += last - next + 1
            var further = oracle
            further.apply(last + 1)

            let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
            let found = try Dictionary(
                uniqueKeysWithValues: Oracle.accounts.compactMap { account in
                    try engine.load(account).map { (account, $0) }
                })
            // The step after the last acknowledged one was completed or had no effect. If the step
            // deletes an absent account, the items are the same in both cases.
            if found == further.values, found != oracle.values { carriedOut += 1 }
            #expect(
                found == oracle.values || found == further.values,
                "\(place): a write was lost or torn")
            oracle = found == further.values ? further : oracle
            if kill % 20 == 0 {
                let report = try engine.check()
                #expect(report.isSound, "\(place): \(report.problems)")
            }
            engine.close()
            next = last + 2
            if found != further.values {
                // The writer continues with the step that was not carried out.
                next = last + 1
            }
        }
        print(
            "kill -9: \(kills) kills, \(acknowledged) acknowledged writes, "
                + "\(carriedOut) times the next one was already committed")
        #expect(acknowledged >= kills)
    }

    @Test func `no acknowledged write of threads that share commits is lost by kill -9`() throws {
        let kills = 60
        let threads = 0..<4
        let folder = try TemporaryFolder()
        let seed = randomSeed()
        var random = SeededGenerator(seed: seed)
        var oracles = threads.map { Oracle(prefix: "\($0) ") }
        var next = threads.map { _ in 0 }
        var acknowledged = 0
        var commits: UInt64 = 0
        for kill in 0..<kills {
            let place = "kill \(kill) of seed \(seed)"
            let child = try faultWriter(
                ["write-threads", folder.path] + next.map { "\($0)" })
            let wanted = Int.random(in: 1...60, using: &random)
            var lines: [String] = []
            for _ in 0..<wanted {
                lines.append(
                    try #require(child.line(), "\(place): the writer ended by itself"))
            }
            child.kill()
            lines += child.lines()
            acknowledged += lines.count
            for line in lines {
                let numbers = line.split(separator: " ").compactMap { Int($0) }
                try #require(numbers.count == 2, "\(place): \(line)")
                // Each thread carries out its steps in order.
                #expect(numbers[1] == next[numbers[0]], "\(place)")
                oracles[numbers[0]].apply(numbers[1])
                next[numbers[0]] = numbers[1] + 1
            }
            let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
            for thread in threads {
                var further = oracles[thread]
                further.apply(next[thread])
                let found = try Dictionary(
                    uniqueKeysWithValues: Oracle.accounts.compactMap { name in
                        let account = "\(thread) " + name
                        return try engine.load(account).map { (account, $0) }
                    })
                // The step after the last acknowledged one was completed or had no effect.
                #expect(
                    found == oracles[thread].values || found == further.values,
                    "\(place): a write of thread \(thread) was lost or torn")
                if found != oracles[thread].values {
                    oracles[thread] = further
                    next[thread] += 1
                }
            }
            if kill % 10 == 0 {
                let report = try engine.check()
                #expect(report.isSound, "\(place): \(report.problems)")
            }
            commits = try engine.store.header().generation
            engine.close()
        }
        print(
            "kill -9 of threads: \(kills) kills, \(acknowledged) acknowledged writes, "
                + "\(commits) commits")
        #expect(acknowledged >= kills)
    }

    @Test func `eight processes that write at the same time lose nothing`() throws {
        let folder = try TemporaryFolder()
        let children = try (0..<8).map { try faultWriter("crowd", folder.path, "\($0)") }
        let acknowledged = children.flatMap { $0.lines() }
        for child in children { #expect(child.endedWell) }
        #expect(acknowledged.count == 8 * 40)
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        for account in acknowledged {
            #expect(try engine.load(account) == Data(account.utf8))
        }
        #expect(try engine.load("shared") != nil)
        let report = try engine.check()
        #expect(report.isSound)
        #expect(report.itemCount == 8 * 40 + 1)
        engine.close()
        print("8 processes: \(acknowledged.count) acknowledged writes")
    }
}
