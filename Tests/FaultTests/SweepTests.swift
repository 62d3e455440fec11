// SweepTests: the short part of each sweep of `./dev soak`.

import FaultSweeps
import Foundation
import Testing

@Suite(.serialized) struct SweepTests {
    private func expectNothingWrong(_ report: SweepReport) {
        print(report.summary)
        for violation in report.violations { Issue.record("\(violation)") }
    }

    @Test(arguments: Scenario.single)
    func `a process killed at a call that changes something loses nothing`(
        scenario: Scenario
    ) throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 1)
        let report = try CallSweep(scratch: folder.path, calls: Strace.changingCalls)
            .sweep(scenario, [.kill], &random)
        #expect(report["ended by signal=KILL"] > 20)
        expectNothingWrong(report)
    }

    @Test(arguments: LockMode.allCases)
    func `writes after a flip in an index change and lose no other item`(mode: LockMode) throws {
        let folder = try TemporaryFolder()
        var sweep = try FlipSweep(scratch: folder.path, mode)
        for page in RootPage.indexes {
            for flip in sweep.flips(in: "keychain.db", page.bytes) where flip.offset % 3 == 0 {
                try sweep.check([flip], first: flip.offset % 4)
            }
        }
        #expect(sweep.report["flips"] > 100)
        expectNothingWrong(sweep.report)
    }
}
