// RandomKillSweep: a keychain with a long history, whose programs are killed at random moments.
//   (1) Steps and values are derived from the seed and the state of the keychain. The moment of a
//       kill also depends on the machine, so a failure is reported with the whole history of the
//       keychain.

import Foundation
import KeychainEngine
import TestPrograms

package struct RandomKillSweep {
    private let scratch: String
    private var random: SeededGenerator
    package private(set) var report = SweepReport("random kills")

    /// The number of kills after which a new keychain is created.
    private static let killsOfLife = 40

    /// - Parameters:
    ///   - scratch: A folder for the keychains.
    ///   - seed: The seed for the steps, and for the delay before each kill.
    package init(scratch: String, seed: UInt64) {
        self.scratch = scratch
        random = SeededGenerator(seed: seed)
    }

    /// Kills a number of processes.
    ///
    /// - Parameter count: The number of processes.
    /// - Throws: An error if a process can't be started.
    package mutating func sweep(_ count: Int) throws {
        while report["kills"] < count {
            report.count("keychains")
            let root = scratch + "/life-\(report["keychains"])"
            try FolderImage().layOut(at: root)
            defer { try? FileManager.default.removeItem(atPath: root) }
            var state = KeychainState()
            var life: [String] = []
            for _ in 0..<Self.killsOfLife where report["kills"] < count {
                guard let next = try kill(in: root, state, &life) else { break }
                state = next
            }
        }
    }

    /// - Returns: The state of the keychain, or `nil` if a step failed or the state isn't allowed.
    private mutating func kill(
        in root: String, _ before: KeychainState, _ life: inout [String]
    ) throws -> KeychainState? {
        let directory = root + "/" + Scenario.place
        let steps = steps(from: before)
        let states = before.states(through: steps)
        let wanted = Int.random(in: 0...steps.count, using: &random)
        let delay = UInt32.random(in: 0...(wanted == 0 ? 30_000 : 4_000), using: &random)
        let child = try TestProgram(
            "fault-writer", ["carry-out", directory, "1"] + steps.map(\.description))
        var lines: [String] = []
        while lines.count < wanted, let line = child.line() { lines.append(line) }
        usleep(delay)
        child.kill()
        lines += child.lines()
        report.count("kills")
        if child.endedWell { report.count("too late") }
        let doneCount = lines.count { $0.hasPrefix("done ") }
        report.count("acknowledged steps", doneCount)
        life.append("\(steps.map(\.description)), \(doneCount) acknowledged")
        if let failure = lines.first(where: { $0.hasPrefix("failed") }) {
            report.violate("\(life): \(failure)")
            return nil
        }
        var observation = Observation(of: directory, knowing: states)
        let possible = doneCount...min(doneCount + 1, steps.count)
        let isRecovering = doneCount < steps.count && steps[doneCount] == .recover
        if isRecovering, observation.failureOfOpening != nil {
            // Until the recovery has finished, a keychain may report damage.
            report.count("recoveries done again")
            let unlocking = states[doneCount].passcode.map { [Step.unlock($0)] } ?? []
            if let failure = StepRunner.run(unlocking + [.recover], in: directory) {
                report.violate("\(life), recovered again: \(failure)")
            }
            observation = Observation(of: directory, knowing: states)
        }
        if let found = possible.first(where: { observation.difference(from: states[$0]) == nil }) {
            if found > doneCount { report.count("committed and not acknowledged") }
            return states[found]
        }
        let difference = observation.difference(from: states[doneCount]) ?? ""
        report.violate("\(life): \(difference)")
        return nil
    }

    /// One to eight random steps, each of which is possible in the state before it. If the keychain
    /// has a passcode, a step that unlocks the keychain comes first.
    private mutating func steps(from before: KeychainState) -> [Step] {
        var steps: [Step] = []
        var state = before
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let step = step(from: state)
            state = state.after(step)
            steps.append(step)
        }
        return (before.passcode.map { [.unlock($0)] } ?? []) + steps
    }

    private mutating func step(from state: KeychainState) -> Step {
        let account =
            state.passcode != nil && Int.random(in: 0..<10, using: &random) == 0
            ? 1000 + Int.random(in: 0..<3, using: &random) : Int.random(in: 0..<12, using: &random)
        let value = Int.random(in: 0..<100, using: &random)
        let passcode = Int.random(in: 0..<20, using: &random)
        switch Int.random(in: 0..<40, using: &random) {
        case 0:
            return state.passcode.map { .removePasscode($0) } ?? .setPasscode(passcode)
        case 1:
            return state.passcode.map { .changePasscode($0, passcode) } ?? .setPasscode(passcode)
        // If no keychain exists yet, there is nothing to recover.
        case 2: return state == KeychainState() ? .put(account, value) : .recover
        case 3: return state.isSealed ? .unseal : .seal
        case 4: return .emptyLog
        case 5: return .reopen
        case 6...12: return state.values[account] == nil ? .put(account, value) : .delete(account)
        case 13...20:
            return state.values[account] == nil ? .add(account, value) : .update(account, value)
        default: return .put(account, value)
        }
    }
}
