// FlipSweep: a keychain with changed bytes, in which programs go on writing.
//   (1) Every item that no write was about is there with its value, or said to be damaged. It is
//       never "not found", and no write changes it.
//   (2) What was acknowledged stays done: a deleted or replaced value doesn't come back, by a
//       recovery neither.
//   (3) A recovery brings every item back that no changed byte lies in.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import TestPrograms

/// What the writes may use.
package enum LockMode: String, CaseIterable, Sendable {
    case withoutPasscode = "without a passcode"
    case locked
    case unlocked
}

package struct FlipSweep {
    /// One changed byte.
    package struct Flip: Hashable, Sendable, CustomStringConvertible {
        package let file: String
        package let offset: Int
        package let mask: UInt8

        package var description: String { "\(file) at \(offset) by \(mask)" }
    }

    private let scratch: String
    private let mode: LockMode
    private let image: FolderImage
    private let before: KeychainState
    /// Each about an account that no other is about.
    private let writes: [Step]
    package private(set) var report: SweepReport

    /// - Parameters:
    ///   - scratch: A folder for the cases.
    ///   - mode: What the writes may use.
    ///   - itemCount: How many items there are, 8 at the least.
    ///   - hasLog: Whether the last of them are in the log only.
    /// - Throws: What making the keychain fails with.
    package init(
        scratch: String, _ mode: LockMode, itemCount: Int = 8, hasLog: Bool = false
    ) throws {
        self.scratch = scratch
        self.mode = mode
        var history = (0..<itemCount / 2).map { Self.addition($0) }
        if mode != .withoutPasscode { history.append(.setPasscode(1)) }
        // What is deleted or replaced leaves remains.
        let later =
            (itemCount / 2..<itemCount).map { Self.addition($0) }
            + [.add(itemCount, 2), .put(0, 1), .delete(itemCount)]
        let unlocking: [Step] = mode == .withoutPasscode ? [] : [.unlock(1)]
        let scenario = Scenario(
            "flips", [], after: history + (hasLog ? [] : later),
            leaving: hasLog ? unlocking + later : [])
        image = try scenario.image(in: scratch)
        before = scenario.before
        writes = [
            .delete(1), .add(itemCount + 1, 6), .update(3, 5), .put(itemCount - 2, 4),
            .put(itemCount + 2, 8),
        ]
        report = SweepReport("flips with writes, \(mode.rawValue)\(hasLog ? ", with a log" : "")")
    }

    /// Values of some bytes and of some pages.
    private static func addition(_ account: Int) -> Step {
        .add(account, account % 4 == 2 ? 40 + account : 1 + account % 9)
    }

    package var writeCount: Int { writes.count }

    package func byteCount(of file: String) -> Int { content(of: file)?.count ?? 0 }

    private func content(of file: String) -> Data? { image.content(of: path(of: file)) }

    private func path(of file: String) -> String {
        Scenario.place + "/" + image.present(file, in: Scenario.place)
    }

    /// One bit of each byte that isn't zero.
    package func flips(in file: String, _ range: Range<Int>? = nil) -> [Flip] {
        guard let content = content(of: file) else { return [] }
        return (range ?? content.indices).filter { content[$0] != 0 }.map {
            Flip(file: file, offset: $0, mask: 1 << UInt8($0 * 5 % 8))
        }
    }

    /// Changes bytes, writes, and looks; then recovers, and looks again.
    ///
    /// - Parameters:
    ///   - flips: The bytes, changed together.
    ///   - first: The write that comes first. The others follow in turn.
    ///   - isAlone: Whether they don't.
    /// - Throws: What laying files out fails with.
    package mutating func check(_ flips: [Flip], first: Int, isAlone: Bool = false) throws {
        let writes = (0..<(isAlone ? 1 : self.writes.count)).map {
            self.writes[(first + $0) % self.writes.count]
        }
        report.count("flips", flips.count)
        let place = "\(mode.rawValue), \(flips), \(writes.map(\.description))"
        // What a process knows of damage it knows by the path, so no path is used twice.
        let root = scratch + "/flip-\(UUID().uuidString)"
        var changed = image
        for flip in flips {
            let path = path(of: flip.file)
            guard case .file(var content) = changed.entries[path] else { continue }
            content[flip.offset] ^= flip.mask
            changed.entries[path] = .file(content)
        }
        try changed.layOut(at: root)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let directory = root + "/" + Scenario.place
        let outcomes = carryOut(writes, in: directory)
        report.count("writes", outcomes.count { $0.value })
        report.count("refusals", outcomes.count { !$0.value })
        var known = [before]
        for write in writes { known.append(known[known.count - 1].after(write)) }

        let seen = Observation(of: directory, knowing: known)
        if let failure = seen.failureOfOpening, failure.cause != .damage {
            report.violate("\(place): not openable, and not damaged: \(failure)")
        }
        for (account, answer) in seen.answers.sorted(by: { $0.key < $1.key }) {
            if case .failed = answer { continue }
            let allowed = allowed(account, outcomes, isRecovered: false)
            if !allowed.contains(answer) {
                report.violate("\(place): account \(account): \(answer), not one of \(allowed)")
            }
        }
        recover(directory, flips, outcomes, known, place)
    }

    /// - Returns: For each write that was tried whether it was acknowledged.
    private func carryOut(_ writes: [Step], in directory: String) -> [Step: Bool] {
        var outcomes: [Step: Bool] = [:]
        for write in writes {
            let isLocked = mode != .unlocked
            let failure = StepRunner.run(
                isLocked ? [write] : [.unlock(1), write], in: directory)
            outcomes[write] = failure == nil
        }
        return outcomes
    }

    /// What a look-up may give where it gives no error.
    private func allowed(
        _ account: Int, _ outcomes: [Step: Bool], isRecovered: Bool
    ) -> [Observation.Answer] {
        let old = before.values[account].map { Observation.Answer.value($0) } ?? .absent
        for (write, isDone) in outcomes where write.account == account {
            let new = before.after(write).values[account].map { Observation.Answer.value($0) }
            // One that failed may be carried out all the same where the commit met damage.
            return isDone ? [new ?? .absent] : [old, new ?? .absent]
        }
        return [old]
    }

    private mutating func recover(
        _ directory: String, _ flips: [Flip], _ outcomes: [Step: Bool],
        _ known: [KeychainState], _ place: String
    ) {
        let recovery: RecoveryReport
        do {
            let passcode = SecretBytes(copying: Contents.passcode(1))
            recovery = try KeychainEngine.recover(
                directory: directory, passcode: mode == .withoutPasscode ? nil : passcode,
                options: StepRunner.options)
        } catch {
            report.violate("\(place): not recovered: \(error)")
            return
        }
        let seen = Observation(of: directory, knowing: known)
        if let failure = seen.failureOfOpening {
            report.violate("\(place): not openable after recovery: \(failure)")
        }
        if let check = seen.check, !check.isSound {
            report.violate("\(place): unsound after recovery: \(check.problems)")
        }
        var lost: [Int] = []
        for (account, answer) in seen.answers.sorted(by: { $0.key < $1.key }) {
            let allowed = allowed(account, outcomes, isRecovered: true)
            if allowed.contains(answer) { continue }
            // Where a recovery can't tell what it lost, every miss says so: also of an item that was
            // deleted, or whose addition was refused.
            if answer.isDamage, recovery.hasUnknownLoss, allowed.contains(.absent) { continue }
            // What is gone must have been there, and something must tell that it is.
            let isTold = answer.isDamage || (answer == .absent && !recovery.isComplete)
            if isTold, allowed != [.absent] {
                lost.append(account)
            } else {
                report.violate(
                    "\(place): after recovery account \(account): \(answer), not one of \(allowed)")
            }
        }
        // A byte lies in one item at the most, and in none on the pages of indexes.
        let bearing = flips.filter { flip in
            !(RootPage.indexes + [.schema, .header, .keybag, .versions, .outbox, .state]).contains {
                flip.file == "keychain.db" && $0.bytes.contains(flip.offset)
            }
        }
        report.count("lost that a changed byte lies in", lost.count)
        if lost.count > bearing.count { report.violate("\(place): lost \(lost), \(recovery)") }
    }
}

extension Step {
    /// What a write is about.
    fileprivate var account: Int? {
        switch self {
        case .add(let account, _), .update(let account, _), .put(let account, _),
            .delete(let account):
            account
        default: nil
        }
    }
}
