// FlipSweep: a keychain with changed bytes, to which programs continue to write.
//   (1) Until a recovery, every item that no write concerns is found with its value, or its
//       look-up fails. The item is never "not found", and no write changes it.
//   (2) Acknowledged changes remain: a deleted or replaced value doesn't return, not even after a
//       recovery.
//   (3) A recovery loses at most as many items as there are changed bytes that can belong to an
//       item, and the loss is reported.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import TestPrograms

/// The lock states in which the writes are made.
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
    /// The writes, each to an account that no other write concerns.
    private let writes: [Step]
    package private(set) var report: SweepReport

    /// - Parameters:
    ///   - scratch: A folder for the cases.
    ///   - mode: The lock state in which the writes are made.
    ///   - itemCount: The number of items, at least 8.
    ///   - hasLog: Whether the last items are only in the log.
    /// - Throws: An error if the keychain can't be created.
    package init(
        scratch: String, _ mode: LockMode, itemCount: Int = 8, hasLog: Bool = false
    ) throws {
        self.scratch = scratch
        self.mode = mode
        var history = (0..<itemCount / 2).map { Self.addition($0) }
        if mode != .withoutPasscode { history.append(.setPasscode(1)) }
        // One item is replaced, and one is added and deleted: their former values must not return.
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

    /// Adds a value that needs overflow pages for every fourth account, and a value that fits on a
    /// page with other rows for all others.
    private static func addition(_ account: Int) -> Step {
        .add(account, account % 4 == 2 ? 40 + account : 1 + account % 9)
    }

    package var writeCount: Int { writes.count }

    package func byteCount(of file: String) -> Int { content(of: file)?.count ?? 0 }

    private func content(of file: String) -> Data? { image.content(of: path(of: file)) }

    private func path(of file: String) -> String {
        Scenario.place + "/" + image.present(file, in: Scenario.place)
    }

    /// One flip for each byte that isn't zero. Each flip changes one bit.
    package func flips(in file: String, _ range: Range<Int>? = nil) -> [Flip] {
        guard let content = content(of: file) else { return [] }
        return (range ?? content.indices).filter { content[$0] != 0 }.map {
            Flip(file: file, offset: $0, mask: 1 << UInt8($0 * 5 % 8))
        }
    }

    /// Changes bytes, makes the writes and verifies the items. Then runs a recovery and verifies
    /// again.
    ///
    /// - Parameters:
    ///   - flips: The bytes, all changed together.
    ///   - first: The index of the write to make first. The others follow in order, and the last is
    ///     followed by the one with index 0.
    ///   - isAlone: Whether to make only the first write.
    /// - Throws: An error if the files can't be written.
    package mutating func check(_ flips: [Flip], first: Int, isAlone: Bool = false) throws {
        let writes = (0..<(isAlone ? 1 : self.writes.count)).map {
            self.writes[(first + $0) % self.writes.count]
        }
        report.count("flips", flips.count)
        let place = "\(mode.rawValue), \(flips), \(writes.map(\.description))"
        // A process remembers known damage by path, so no path is used twice.
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
            let allowed = allowed(account, outcomes)
            if !allowed.contains(answer) {
                report.violate("\(place): account \(account): \(answer), not one of \(allowed)")
            }
        }
        recover(directory, flips, outcomes, known, place)
    }

    /// - Returns: For each attempted write, whether it was acknowledged.
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

    /// The values that a look-up may return if it doesn't fail.
    private func allowed(_ account: Int, _ outcomes: [Step: Bool]) -> [Observation.Answer] {
        let old = before.values[account].map { Observation.Answer.value($0) } ?? .absent
        for (write, isDone) in outcomes where write.account == account {
            let new = before.after(write).values[account].map { Observation.Answer.value($0) }
            // A failed write may have taken effect if its commit met damage.
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
            let allowed = allowed(account, outcomes)
            if allowed.contains(answer) { continue }
            // If a recovery doesn't know what it lost, each look-up that finds nothing reports
            // damage, even for an item that was deleted or whose addition was refused.
            if answer.isDamage, recovery.hasUnknownLoss, allowed.contains(.absent) { continue }
            // A lost item must have existed, and its loss must be reported.
            let isTold = answer.isDamage || (answer == .absent && !recovery.isComplete)
            if isTold, allowed != [.absent] {
                lost.append(account)
            } else {
                report.violate(
                    "\(place): after recovery account \(account): \(answer), not one of \(allowed)")
            }
        }
        // A byte belongs to at most one item. On the pages listed here, a byte belongs to no item.
        let bearing = flips.filter { flip in
            !(RootPage.indexes + [.schema, .header, .keybag, .versions, .outbox, .state]).contains {
                flip.file == "keychain.db" && $0.bytes.contains(flip.offset)
            }
        }
        report.count("items lost after recovery", lost.count)
        if lost.count > bearing.count { report.violate("\(place): lost \(lost), \(recovery)") }
    }
}

extension Step {
    /// The account that the step adds, changes or deletes, or `nil` for any other step.
    fileprivate var account: Int? {
        switch self {
        case .add(let account, _), .update(let account, _), .put(let account, _),
            .delete(let account):
            account
        default: nil
        }
    }
}
