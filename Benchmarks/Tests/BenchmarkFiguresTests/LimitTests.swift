// Tests of limits, and of the distinction between noise and a missed limit.

import BenchmarkFigures
import Testing

@Suite struct `Limits` {
    @Test(arguments: [
        ([2, 2, 2, 2], Verdict.holds), ([9, 2, 2, 2], .holds), ([9, 9, 2, 2.4], .withinNoise),
        ([9, 9, 9, 2], .missed), ([9, 9, 9, 9, 2, 2], .withinNoise), ([9], .missed),
        ([2.5], .holds), ([.nan], .missed), ([], .missed),
    ])
    func `a limit is missed if at least three quarters of the rounds miss it`(
        _ rounds: [Double], _ verdict: Verdict
    ) {
        #expect(Bound.atMost(2.5).verdict(on: Samples(rounds)) == verdict)
        let mirrored = Samples(rounds).map { -$0 }
        #expect(Bound.atLeast(-2.5).verdict(on: mirrored) == verdict)
    }

    @Test func `ratios are taken round by round`() {
        let figure = Samples([10, 100, 30])
        let floor = Samples([5, 50, 10])
        #expect((figure / floor).values == [2, 2, 3])
        #expect((figure + floor).median == 40)
        #expect(Samples([4, 1, 3, 2]).median == 2.5)
        #expect(Samples([4, 1, 3, 2]).quartiles == [2, 3])
        #expect(Samples([5, 4, 1, 3, 2]).quartiles == [2, 4])
    }

    @Test(arguments: Limit.allCases)
    func `an aim is stricter than its limit`(_ limit: Limit) {
        switch (limit.bound, limit.aim) {
        case (_, nil): break
        case (.atMost(let bound), .atMost(let aim)): #expect(aim < bound)
        case (.atLeast(let bound), .atLeast(let aim)): #expect(aim > bound)
        default: Issue.record("the two point in different directions")
        }
    }

    @Test func `a missed limit is reported with the measured figure and the limit`() {
        let slow = Samples([500, 510, 520])
        let floor = Samples([100, 100, 100])
        let size = Samples(30e6)
        var report = Report(machine: Machine.current())
        report.rows = [
            Row("load", slow, .time, [.times(slow, of: floor, "the floor", .load)]),
            Row("tool", size, .size, [.itself(size, .keychainctlSize)]),
            Row("list", Samples(300_000), .itemsPerSecond, [.itself(Samples(300_000), .list)]),
            Row("plain", slow, .time, [.times(slow, of: floor, "the floor")]),
        ]
        #expect(
            report.missed == [
                "load, against the floor: 5.1 × (half of the rounds: 5 × to 5.2 ×), "
                    + "limit ≤ 4.5 ×, aim ≤ 2.5 ×",
                "tool: 28.6 MiB, limit ≤ 19.1 MiB",
            ])
        #expect(report.unmeasured.count == Limit.allCases.count - 3)
        let text = report.text()
        #expect(text.contains("MISSED"))
        #expect(text.contains("peak memory of the service"), "Unmeasured limits are named.")
    }
}
