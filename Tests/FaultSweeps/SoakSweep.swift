// SoakSweep: the fault sweeps that run for a long time, each with the name that starts it.

import Foundation
import TestPrograms

package enum SoakSweep: String, CaseIterable, Sendable {
    case kills
    case errors
    case flips
    case randomFlips = "random-flips"
    case powerCuts = "power-cuts"
    case crowds
    case disturbances
    case randomKills = "random-kills"

    /// - Parameters:
    ///   - scratch: A folder for the cases.
    ///   - seed: The seed of all random choices.
    ///   - count: The number of cases of each kind. `nil` for all cases or, if a sweep creates
    ///     random cases, for the default number. With `nil`, `powerCuts` cuts the power at no more
    ///     than 60 places for each fsync that fails.
    ///   - tell: Called with each report once it is complete.
    /// - Throws: ``SweepImpossible`` if the sweep can't be carried out.
    package func run(
        scratch: String, seed: UInt64, count: Int?, tell: (SweepReport) -> Void
    ) throws {
        var random = SeededGenerator(seed: seed)
        switch self {
        case .kills:
            for scenario in Scenario.single {
                tell(
                    try CallSweep(scratch: scratch, calls: [])
                        .sweep(scenario, [.kill], count: count, &random))
            }
        case .errors:
            for scenario in Scenario.single {
                tell(
                    try CallSweep(scratch: scratch, calls: Strace.failingCalls)
                        .sweep(
                            scenario, [.error("ENOSPC"), .error("EIO")], count: count, &random))
            }
        case .flips:
            for mode in LockMode.allCases {
                for hasLog in [false, true] {
                    tell(try Self.flips(scratch, mode, hasLog: hasLog, count, &random))
                }
            }
        case .powerCuts: try Self.powerCuts(scratch, count, &random, tell)
        case .crowds:
            var sweep = CrowdKillSweep(scratch: scratch, seed: seed)
            try sweep.sweep(count ?? 200)
            tell(sweep.report)
        case .disturbances:
            var sweep = DisturbanceSweep(scratch: scratch, seed: seed)
            try sweep.sweep(count ?? 50)
            tell(sweep.report)
        case .randomKills:
            var sweep = RandomKillSweep(scratch: scratch, seed: seed)
            try sweep.sweep(count ?? 10_000)
            tell(sweep.report)
        case .randomFlips: tell(try Self.randomFlips(scratch, count ?? 2_000, &random))
        }
    }

    /// Flips one bit of a byte in each case, for every byte that isn't zero or for `count` of these
    /// bytes. There is one case for each write, in which only this write follows the flip, and one
    /// case in which all writes follow.
    private static func flips(
        _ scratch: String, _ mode: LockMode, hasLog: Bool, _ count: Int?,
        _ random: inout SeededGenerator
    ) throws -> SweepReport {
        var sweep = try FlipSweep(scratch: scratch, mode, hasLog: hasLog)
        let flips = sweep.flips(in: hasLog ? "keychain.db-wal" : "keychain.db")
        for flip in flips.sample(count, &random) {
            for write in 0..<sweep.writeCount {
                try sweep.check([flip], first: write, isAlone: true)
            }
            try sweep.check([flip], first: flip.offset % sweep.writeCount)
        }
        return sweep.report
    }

    private static func powerCuts(
        _ scratch: String, _ count: Int?, _ random: inout SeededGenerator,
        _ tell: (SweepReport) -> Void
    ) throws {
        for scenario in [Scenario.day] + Scenario.single {
            var sweep = try PowerCutSweep(scratch: scratch, samples: 12)
            try sweep.sweep(scenario, count: count, &random)
            tell(sweep.report)
            var second = try PowerCutSweep(scratch: scratch, samples: 4)
            try second.sweepFailedSynchronizations(
                scenario, failures: count, count: count ?? 60, &random)
            tell(second.report)
        }
    }

    /// Changes up to three random bytes of a larger keychain and its log in each case, and then
    /// makes all writes.
    private static func randomFlips(
        _ scratch: String, _ count: Int, _ random: inout SeededGenerator
    ) throws -> SweepReport {
        var sweep = try FlipSweep(scratch: scratch, .unlocked, itemCount: 300, hasLog: true)
        let files = ["keychain.db", "keychain.db-wal"]
        for _ in 0..<count {
            let flips = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let file = files[Int.random(in: 0...1, using: &random)]
                return FlipSweep.Flip(
                    file: file,
                    offset: Int.random(in: 0..<sweep.byteCount(of: file), using: &random),
                    mask: UInt8.random(in: 1...255, using: &random))
            }
            try sweep.check(flips, first: Int.random(in: 0..<sweep.writeCount, using: &random))
        }
        return sweep.report
    }
}

extension Array {
    /// A sample of `count` elements in their order, or all for `nil`.
    func sample(_ count: Int?, _ random: inout SeededGenerator) -> [Element] {
        guard let count, count < self.count else { return self }
        return indices.shuffled(using: &random).prefix(count).sorted().map { self[$0] }
    }
}
