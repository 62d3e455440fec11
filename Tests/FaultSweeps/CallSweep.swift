// CallSweep: a process that is killed, or gets an error, at every system call of a step.
//   (1) Acknowledged steps are done, and the interrupted step is done completely or not at all.
//   (2) Repeating the same steps leads to the same result as without the interruption. In the
//       repetition, a step fails only if it is already done.
//   (3) Afterwards no file is left that could contain a key.

import Foundation
import KeychainEngine
import KeychainCore
package import TestPrograms

package struct CallSweep {
    private let strace: Strace
    private let scratch: String
    private let calls: [String]
    private var report = SweepReport("")
    /// The keychain's generation before the steps.
    private var generation: UInt64 = 0

    /// - Parameters:
    ///   - scratch: A folder for the cases.
    ///   - calls: The names of the system calls to interrupt. Empty for all.
    /// - Throws: ``SweepImpossible`` if processes can't be traced.
    package init(scratch: String, calls: [String]) throws {
        self.scratch = scratch
        self.calls = calls
        strace = try Strace(scratch: scratch)
    }

    /// Interrupts the steps of a scenario at every system call, one at a time.
    ///
    /// - Parameters:
    ///   - scenario: The steps.
    ///   - interruptions: The interruptions to try at each call.
    ///   - count: The number of calls to interrupt, or `nil` for all.
    ///   - random: Chooses the calls.
    /// - Returns: A report of the cases and the violations.
    /// - Throws: ``SweepImpossible`` in two cases. In a run without interruptions, the steps fail,
    ///   don't lead to the scenario's result, or make only 20 of the calls or fewer. Or one of
    ///   `interruptions` never takes effect.
    package consuming func sweep(
        _ scenario: Scenario, _ interruptions: [Interruption], count: Int? = nil,
        _ random: inout SeededGenerator
    ) throws -> SweepReport {
        let image = try scenario.image(in: scratch)
        let sites = try sites(of: scenario, image).sample(count, &random)
        report = SweepReport("\(scenario.name), interrupted")
        report.count("calls", sites.count)
        try image.layOut(at: scratch + "/first-\(scenario.name)")
        generation =
            Observation(
                of: scratch + "/first-\(scenario.name)/" + Scenario.place, knowing: scenario.states
            ).generation
        for interruption in interruptions {
            var reached = 0
            for site in sites {
                let root = scratch + "/\(scenario.name)-\(interruption)-\(site)"
                try image.layOut(at: root)
                let directory = root + "/" + Scenario.place
                let run = try strace.run(
                    scenario.steps, in: directory, tracing: [], interruption, at: site)
                if !run.endedWell { reached += 1 }
                judge(scenario, run, root, "\(scenario.name), \(interruption) at \(site)")
                try? FileManager.default.removeItem(atPath: root)
            }
            report.count("ended by \(interruption)", reached)
            guard reached > 0 else {
                throw SweepImpossible(
                    description: "\(scenario.name): no \(interruption) interrupted anything.")
            }
        }
        return report
    }

    private func sites(of scenario: Scenario, _ image: FolderImage) throws -> [CallSite] {
        let root = scratch + "/baseline-\(scenario.name)"
        try image.layOut(at: root)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let directory = root + "/" + Scenario.place
        let run = try strace.run(scenario.steps, in: directory, tracing: calls)
        guard run.doneCount == scenario.steps.count else {
            throw SweepImpossible(
                description: "\(scenario.name) fails without an interruption: \(run.lines)")
        }
        if let difference = Observation(of: directory, knowing: scenario.states)
            .difference(from: scenario.after)
        {
            throw SweepImpossible(
                description: "\(scenario.name) doesn't do what it should: \(difference)")
        }
        let sites = TracedCall.sites(
            run.calls, since: root, changingOnly: calls == Strace.changingCalls)
        guard sites.count > 20 else {
            throw SweepImpossible(
                description: "\(scenario.name): only \(sites.count) calls were traced.")
        }
        return sites
    }

    // MARK: Verifying

    /// Verifies the keychain, and repeats the steps twice, each time with the files that the
    /// interruption left: once after reading the keychain, and once without reading it first.
    private mutating func judge(
        _ scenario: Scenario, _ run: Strace.Run, _ root: String, _ place: String
    ) {
        let image = FolderImage(of: root)
        let states = scenario.states
        let done = min(run.doneCount, scenario.steps.count)
        var possible = Array(states[done...min(done + 1, states.count - 1)])
        // If a failure says that nothing was changed, the caller relies on that.
        if run.doneCount < scenario.steps.count,
            run.failures.last?.contains("othing was changed") == true
        {
            possible = [states[done]]
        }
        report.count("acknowledged steps", done)
        let directory = root + "/" + Scenario.place
        let observation = Observation(of: directory, knowing: states)
        if scenario.steps.contains(.recover), done < scenario.steps.count {
            // Until a recovery has finished, a keychain may report damage.
            if let lie = observation.lie(about: possible) { report.violate("\(place): \(lie)") }
        } else {
            let differences = possible.map { observation.difference(from: $0) }
            if !differences.contains(nil) {
                report.violate(
                    "\(place), \(done) acknowledged\(run.failures.first.map { " (\($0))" } ?? ""): "
                        + (differences.last.flatMap { $0 } ?? ""))
            }
        }
        repeatSteps(of: scenario, in: root, "\(place), looked at and done again")
        do {
            let other = root + "-again"
            try image.layOut(at: other)
            repeatSteps(of: scenario, in: other, "\(place), done again")
            try FileManager.default.removeItem(atPath: other)
        } catch {
            report.violate("\(place): \(error)")
        }
    }

    private mutating func repeatSteps(
        of scenario: Scenario, in root: String, _ place: String
    ) {
        let directory = root + "/" + Scenario.place
        let failure = StepRunner.run(scenario.steps, in: directory)
        // Repeating a step that is already done can fail with one of these statuses.
        let isFulfilled = failure.map {
            [.duplicateItem, .itemNotFound, .param, .authFailed].contains($0.status)
        }
        if isFulfilled == false, let failure { report.violate("\(place): \(failure)") }
        let observation = Observation(of: directory, knowing: scenario.states)
        if let difference = observation.difference(from: scenario.after) {
            report.violate("\(place)\(failure.map { " (\($0))" } ?? ""): \(difference)")
        }
        // The generation must not decrease, because an attacker could then put back a copy of the
        // previous files unnoticed.
        if observation.failureOfOpening == nil, observation.generation < generation {
            report.violate("\(place): generation \(observation.generation) after \(generation)")
        }
        let leftovers = FolderImage(of: root).leftovers(besides: Scenario.place)
        if !leftovers.isEmpty { report.violate("\(place): left over \(leftovers)") }
    }
}
