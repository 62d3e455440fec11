// CrowdKillSweep: many processes that use a new keychain at the same time and are killed at random
// moments.
//   (1) Afterwards there is one keychain, with everything that any of the processes acknowledged.

import KeychainCore
import Foundation
import KeychainEngine
import TestPrograms

package struct CrowdKillSweep {
    private let scratch: String
    private var random: SeededGenerator
    package private(set) var report = SweepReport("crowds")

    /// The number of accounts of each process.
    private static let accountCount = 12
    private static let processCount = 8

    /// - Parameters:
    ///   - scratch: A folder for the keychains.
    ///   - seed: The seed for the moments of the kills.
    package init(scratch: String, seed: UInt64) {
        self.scratch = scratch
        random = SeededGenerator(seed: seed)
    }

    /// Runs a number of crowds of processes, one crowd after the other, each on a keychain that
    /// doesn't exist yet.
    ///
    /// - Parameter count: The number of crowds.
    /// - Throws: An error if a process can't be started.
    package mutating func sweep(_ count: Int) throws {
        for _ in 0..<count {
            report.count("crowds")
            let root = scratch + "/crowd-\(report["crowds"])"
            try FolderImage().layOut(at: root)
            try check(root)
            try? FileManager.default.removeItem(atPath: root)
        }
    }

    private mutating func check(_ root: String) throws {
        let directory = root + "/" + Scenario.place
        let steps = (0..<Self.processCount).map { process in
            (0..<Self.accountCount).map { Step.put(process * Self.accountCount + $0, 1 + $0 % 9) }
        }
        let children = try steps.map { steps in
            try TestProgram(
                "fault-writer", ["carry-out", directory, "1"] + steps.map(\.description))
        }
        // Two of the processes survive. The killed processes must not block them.
        for process in (0..<Self.processCount).shuffled(using: &random).dropLast(2) {
            usleep(UInt32.random(in: 0...12_000, using: &random))
            children[process].kill()
            report.count("kills")
        }
        var least: [Int: Int] = [:]
        var most: [Int: Int] = [:]
        for (child, steps) in zip(children, steps) {
            let lines = child.lines()
            if let failure = lines.first(where: { $0.hasPrefix("failed") }) {
                report.violate("crowd \(report["crowds"]): \(failure)")
            }
            let doneCount = lines.count { $0.hasPrefix("done ") }
            report.count("acknowledged steps", doneCount)
            for (number, step) in steps.enumerated() where number <= doneCount {
                guard case .put(let account, let value) = step else { continue }
                most[account] = value
                if number < doneCount { least[account] = value }
            }
        }
        let observation = Observation(of: directory, knowing: [KeychainState(values: most)])
        if let failure = observation.failureOfOpening {
            report.violate("crowd \(report["crowds"]): can't be opened: \(failure)")
        }
        for (account, answer) in observation.answers {
            let isGood =
                least[account].map { answer == .value($0) }
                ?? (answer == .absent || most[account].map { answer == .value($0) } == true)
            if !isGood {
                report.violate("crowd \(report["crowds"]): account \(account): \(answer)")
            }
        }
        if observation.check?.isSound != true {
            report.violate(
                "crowd \(report["crowds"]): unsound: \(observation.check?.problems ?? [])")
        }
        let leftovers = FolderImage(of: root).leftovers(besides: Scenario.place)
        if !leftovers.isEmpty {
            report.violate("crowd \(report["crowds"]): left over \(leftovers)")
        }
    }
}
