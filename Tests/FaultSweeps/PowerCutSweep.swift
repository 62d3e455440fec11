// PowerCutSweep: simulates power failures after changes of a keychain's files, while the keychain
// goes through many steps.
//   (1) Every step that was acknowledged before the power failure is done, and the next step is
//       done completely or not at all. Only the step `recover` may be done in part: the keychain
//       may then report damage, but gives no wrong answer.
//   (2) The remaining steps can be carried out, with the same result as without the power failure.
//   (3) (1) and (2) also hold if an fsync failed before the power failure.

import Foundation
import KeychainEngine
package import TestPrograms

package struct PowerCutSweep {
    private let strace: Strace
    private let scratch: String
    private let samples: Int
    package private(set) var report: SweepReport

    /// - Parameters:
    ///   - scratch: A folder for the files of the sweep.
    ///   - samples: For each system call after which the power is cut, the number of random subsets
    ///     of the unsynchronized changes that are tried as the part that reached the disk.
    /// - Throws: ``SweepImpossible`` if processes can't be traced.
    package init(scratch: String, samples: Int) throws {
        self.scratch = scratch
        self.samples = samples
        strace = try Strace(scratch: scratch)
        report = SweepReport("power cuts")
    }

    /// Carries out the steps of a scenario, and simulates power failures after system calls that
    /// changed files.
    ///
    /// - Parameters:
    ///   - scenario: The steps.
    ///   - count: The number of system calls after which to cut the power, or `nil` for all.
    ///   - random: Chooses the system calls and the subsets.
    /// - Throws: ``SweepImpossible`` if the steps fail without a power failure, or make at most 10
    ///   changes.
    package mutating func sweep(
        _ scenario: Scenario, count: Int?, _ random: inout SeededGenerator
    ) throws {
        report.name = "power cuts, \(scenario.name)"
        let image = try scenario.image(in: scratch)
        let run = try record(scenario, image, nil)
        guard run.doneCount == scenario.steps.count else {
            throw SweepImpossible(description: "\(scenario.name) fails by itself: \(run.lines)")
        }
        try replay(scenario, image, run, count, "", &random)
    }

    /// Carries out the steps of a scenario while an fsync fails, and simulates power failures after
    /// system calls that changed files. A step that fails is tried once more.
    ///
    /// - Parameters:
    ///   - scenario: The steps.
    ///   - failures: The number of fsync calls that fail, one at a time, or `nil` for all.
    ///   - count: The number of system calls after which to cut the power for each failed fsync
    ///     call, or `nil` for all.
    ///   - random: Chooses the fsync calls, the system calls after which to cut the power, and the
    ///     subsets.
    /// - Throws: ``SweepImpossible`` if the steps call no fsync, or change nothing on the disk.
    package mutating func sweepFailedSynchronizations(
        _ scenario: Scenario, failures: Int?, count: Int?, _ random: inout SeededGenerator
    ) throws {
        report.name = "power cuts after a failed fsync, \(scenario.name)"
        let image = try scenario.image(in: scratch)
        let sites = TracedCall.sites(try record(scenario, image, nil).calls, since: "")
            .filter { ["fsync", "fdatasync"].contains($0.name) }
        guard !sites.isEmpty else {
            throw SweepImpossible(description: "\(scenario.name): no fsync.")
        }
        for site in sites.sample(failures, &random) {
            let run = try record(scenario, image, site)
            report.count("failed fsyncs", run.calls.count { $0.isInjected })
            try replay(scenario, image, run, count, ", EIO at \(site)", &random)
        }
    }

    private static let root = "/power"

    private func record(
        _ scenario: Scenario, _ image: FolderImage, _ site: CallSite?
    ) throws -> Strace.Run {
        let root = scratch + Self.root
        try image.layOut(at: root)
        return try strace.run(
            scenario.steps, in: root + "/" + Scenario.place, attempts: 2,
            tracing: Strace.changingCalls + ["close", "fcntl"], withData: true,
            site.map { _ in .error("EIO") }, at: site)
    }

    private mutating func replay(
        _ scenario: Scenario, _ image: FolderImage, _ run: Strace.Run, _ count: Int?,
        _ where: String, _ random: inout SeededGenerator
    ) throws {
        var places: [(model: DiskModel, doneCount: Int, call: Int)] = []
        var model = DiskModel(image, root: scratch + Self.root)
        var doneCount = 0
        for (number, call) in run.calls.enumerated() {
            if let text = call.acknowledgement {
                // A failed step isn't counted: it may take effect later or not.
                if text.hasPrefix("done") { doneCount += 1 }
            } else if model.carryOut(call) {
                places.append((model, doneCount, number))
            }
        }
        // Even the scenario `seal`, which makes the fewest changes, makes more than 10. After a
        // failed fsync, a run may end early.
        guard places.count > (`where`.isEmpty ? 10 : 0) else {
            throw SweepImpossible(description: "\(scenario.name): \(places.count) changes.")
        }
        report.count("changes", places.count)
        report.count("acknowledged steps", doneCount)
        for place in places.sample(count, &random) {
            var fates = DiskModel.Fate.allCases.filter { $0 != .sampled }
            fates += [DiskModel.Fate](repeating: .sampled, count: samples)
            for fate in place.model.isDurable ? [.kept] : fates {
                report.count("cuts")
                let call = run.calls[place.call]
                judge(
                    scenario, place.model.image(after: fate, &random), place.doneCount,
                    "\(scenario.name)\(`where`), cut after call \(place.call) (\(call.name)) with "
                        + "\(fate.rawValue), \(place.doneCount) acknowledged")
            }
        }
    }

    private mutating func judge(
        _ scenario: Scenario, _ image: FolderImage, _ doneCount: Int, _ place: String
    ) {
        // A process remembers known damage by path, so no path is used twice.
        let root = scratch + "/cut-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        let directory = root + "/" + Scenario.place
        let states = scenario.states
        do { try image.layOut(at: root) } catch { return report.violate("\(place): \(error)") }
        let observation = Observation(of: directory, knowing: states)
        let possible = doneCount...min(doneCount + 1, states.count - 1)
        guard let found = possible.first(where: { observation.difference(from: states[$0]) == nil })
        else {
            let isOfRecovery =
                scenario.steps[doneCount...].first == .recover
                && observation.lie(about: possible.map { states[$0] }) == nil
            if !isOfRecovery {
                report.violate(
                    "\(place): \(observation.difference(from: states[doneCount]) ?? "")")
            }
            return finish(scenario, from: doneCount, directory, root, place)
        }
        finish(scenario, from: found, directory, root, place)
    }

    /// Carries out the steps that aren't done, and compares the result with the scenario's.
    private mutating func finish(
        _ scenario: Scenario, from done: Int, _ directory: String, _ root: String, _ place: String
    ) {
        let states = scenario.states
        let unlocking = states[done].passcode.map { [Step.unlock($0)] } ?? []
        let failure = StepRunner.run(unlocking + scenario.steps[done...], in: directory)
        let end = Observation(of: directory, knowing: states)
        if let failure {
            report.violate("\(place), continuing failed: \(failure)")
        } else if let difference = end.difference(from: scenario.after) {
            report.violate("\(place), after continuing: \(difference)")
        }
        let leftovers = FolderImage(of: root).leftovers(besides: Scenario.place)
        if !leftovers.isEmpty { report.violate("\(place): left over \(leftovers)") }
    }
}

extension TracedCall {
    /// The text that the traced process wrote, if the call wrote to its standard output.
    fileprivate var acknowledgement: String? {
        guard name == "write", arguments.hasPrefix("1, "), let result, result > 0 else {
            return nil
        }
        let parts = arguments.split(separator: ", ")
        return parts.count > 1 ? String(decoding: parts[1].unescaped, as: UTF8.self) : nil
    }
}
