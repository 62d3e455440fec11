// SweepTests: the short part of each sweep of `./dev soak`.

import FaultSweeps
import Foundation
import Testing

@Suite(.serialized) struct SweepTests {
    private func expectNothingWrong(_ report: SweepReport) {
        print(report.summary)
        // One cause shows at many places.
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test(arguments: Scenario.single)
    func `a process killed at a call that changes something loses nothing`(
        scenario: Scenario
    ) throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 1)
        let report = try CallSweep(scratch: folder.path, calls: Strace.changingCalls)
            .sweep(scenario, [.kill], count: scenario.steps == [.add(0, 5)] ? nil : 24, &random)
        #expect(report["ended by signal=KILL"] > 20)
        expectNothingWrong(report)
    }

    @Test func `a power failure loses nothing that was acknowledged`() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 1)
        var sweep = try PowerCutSweep(scratch: folder.path, samples: 2)
        try sweep.sweep(.day, count: 60, &random)
        #expect(sweep.report["cuts"] > 100)
        expectNothingWrong(sweep.report)
    }

    @Test func `an fsync that failed is not taken for one that succeeded`() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 1)
        var sweep = try PowerCutSweep(scratch: folder.path, samples: 1)
        try sweep.sweepFailedSynchronizations(.day, failures: 8, count: 20, &random)
        #expect(sweep.report["failed fsyncs"] == 8)
        expectNothingWrong(sweep.report)
    }

    @Test func `a keychain whose programs are killed at any moment loses nothing`() throws {
        let folder = try TemporaryFolder()
        var sweep = RandomKillSweep(scratch: folder.path, seed: 1)
        try sweep.sweep(150)
        #expect(sweep.report["kills"] == 150)
        expectNothingWrong(sweep.report)
    }

    @Test(arguments: LockMode.allCases)
    func `writes after a flip in an index change and lose no other item`(mode: LockMode) throws {
        let folder = try TemporaryFolder()
        var sweep = try FlipSweep(scratch: folder.path, mode)
        for page in RootPage.indexes {
            for flip in sweep.flips(in: "keychain.db", page.bytes) where flip.offset % 8 == 0 {
                try sweep.check([flip], first: flip.offset % 4)
            }
        }
        #expect(sweep.report["flips"] > 50)
        expectNothingWrong(sweep.report)
    }
}
