// SweepTests: short runs of the sweeps `kills`, `power-cuts`, `random-kills` and `flips` of
// `./dev soak`.
//   (1) A sweep mostly waits for other processes. It runs on a separate thread. If it ran on one of
//       the few threads that the tests share, it would delay other tests.

import FaultSweeps
import Foundation
import KeychainCore
import TestPrograms
import Testing

/// Runs a sweep on a separate thread, with a folder for its cases.
func onThread(
    _ sweep: @escaping @Sendable (_ scratch: String) throws -> SweepReport
) async throws -> SweepReport {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.path
    let report = try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Result { try sweep(path) })
        }
    }
    print(report.summary)
    return report
}

@Suite(.serialized) struct SweepTests {
    @Test(arguments: Scenario.single)
    func `a process killed at a call that changes files loses nothing`(
        scenario: Scenario
    ) async throws {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            return try CallSweep(scratch: scratch, calls: Strace.changingCalls)
                .sweep(scenario, [.kill], count: 12, &random)
        }
        #expect(report["ended by signal=KILL"] > 10)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test func `a power failure loses no acknowledged write`() async throws {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            var sweep = try PowerCutSweep(scratch: scratch, samples: 2)
            try sweep.sweep(.day, count: 60, &random)
            return sweep.report
        }
        #expect(report["cuts"] > 100)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test func `a power failure during a conversion loses nothing`() async throws {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            var sweep = try PowerCutSweep(scratch: scratch, samples: 1)
            let converting = try #require(Scenario.single.first { $0.name == "convert" })
            try sweep.sweep(converting, count: 15, &random)
            return sweep.report
        }
        #expect(report["cuts"] > 15)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test func `a failed fsync is not treated as successful`() async throws {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            var sweep = try PowerCutSweep(scratch: scratch, samples: 1)
            try sweep.sweepFailedSynchronizations(.day, failures: 3, count: 10, &random)
            // This scenario creates the log again, so the log's folder is also synchronized.
            let saving = try #require(Scenario.single.first { $0.name == "save over" })
            try sweep.sweepFailedSynchronizations(saving, failures: nil, count: 12, &random)
            return sweep.report
        }
        #expect(report["failed fsyncs"] > 6)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test func `a keychain whose programs are killed at random moments loses nothing`() async throws
    {
        let report = try await onThread { scratch in
            var sweep = RandomKillSweep(scratch: scratch, seed: 1)
            try sweep.sweep(150)
            return sweep.report
        }
        #expect(report["kills"] == 150)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test(arguments: LockMode.allCases)
    func `with a flipped bit in an index, writes don't change or lose other items`(
        mode: LockMode
    ) async throws {
        let report = try await onThread { scratch in
            var sweep = try FlipSweep(scratch: scratch, mode)
            var (orders, masks): (Set<Int>, Set<UInt8>) = ([], [])
            for page in RootPage.indexes {
                // The offset modulo 8 determines which bit of the byte is flipped. To flip each bit
                // in some byte, one offset is chosen of each eight: the first of one group of
                // eight, the second of the next group, and so on. Bytes that are zero are skipped.
                for flip in sweep.flips(in: "keychain.db", page.bytes)
                where flip.offset % 8 == flip.offset / 8 % 8 {
                    let first = flip.offset / 8 % sweep.writeCount
                    try sweep.check([flip], first: first)
                    orders.insert(first)
                    masks.insert(flip.mask)
                }
            }
            var result = sweep.report
            result.count("orders of writes", orders.count)
            result.count("bits", masks.count)
            return result
        }
        #expect(report["flips"] > 50)
        // For each of the five writes, there was a case in which it was made before the others. For
        // each of the eight bits, there was a byte in which it was flipped.
        #expect(report["orders of writes"] == 5)
        #expect(report["bits"] == 8)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test(arguments: [
        ["--sead", "1"], ["--seed"], ["--count", "many"], ["--seed", "1", "nothing"],
    ])
    func `soak refuses wrong arguments and says why`(_ arguments: [String]) throws {
        let path = try #require(TestProgram.path(of: "soak"))
        let program = try TestProgram(
            path: "/bin/sh", ["-c", #""$0" "$@" 2>&1; echo $?"#, path] + arguments,
            environment: [:])
        let lines = program.lines()
        #expect(lines.count == 2 && lines.last == "64", "\(lines)")
        #expect(lines.first?.hasPrefix("soak: ") == true, "\(lines)")
    }

    @Test func `sweeps accept a failed look-up only if its error reports damage or a locked item`()
        throws
    {
        let folder = try TemporaryFolder()
        let addition = Step.add(0, 5)
        #expect(StepRunner.run([addition], in: folder.path) == nil)
        let state = KeychainState().after(addition)
        var seen = Observation(of: folder.path, knowing: [state])
        #expect(seen.lie(about: [state]) == nil)
        let rows: [(failure: KeychainFailure, isExcused: Bool)] = [
            (.lostItems, true), (.misleadingIndex, true), (.locked(.whenUnlocked), true),
            (.busy("Busy."), false), (.notPermitted("Not permitted."), false),
            (KeychainFailure(.ioError, "Not read."), false),
        ]
        for row in rows {
            seen.answers[0] = .failed(row.failure)
            #expect((seen.lie(about: [state]) == nil) == row.isExcused, "\(row.failure)")
        }
    }
}
