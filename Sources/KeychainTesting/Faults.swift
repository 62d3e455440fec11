// Faults: failures and delays that a test injects, and the operations that they affect.
//   (1) Faults are selected under one lock, so a fault that is to occur once occurs exactly once,
//       regardless of the number of threads.

#if !canImport(Darwin)

public import Keychain
import KeychainCore
import Synchronization

extension TestKeychain {
    /// A failure or delay that affects operations.
    public struct Fault: Hashable, Sendable {
        enum Effect: Hashable, Sendable {
            case failure(KeychainFailure)
            case delay(Duration)
        }

        let effect: Effect
        let moment: FaultMoment
        /// The operations that the fault affects unless the test specifies others.
        let operations: Operations

        /// The operation fails with `interactionNotAllowed` and has no effect, as on a locked
        /// device. By default, this fault affects all operations except deletions, which a lock
        /// usually doesn't prevent.
        ///
        /// ``TestKeychain/lock()`` really locks the keychain and takes each item's accessibility
        /// into account. Use this fault to simulate a device that becomes locked in the middle of a
        /// sequence of operations.
        public static let locked = Fault(
            .interactionNotAllowed, "The test simulates a locked keychain.",
            operations: [.add, .search, .update, .secureEnclave])

        /// The operation fails with `authFailed` and has no effect, as if access were denied.
        public static let denied = Fault(.authFailed, "The test simulates denied access.")

        /// A write fails with `diskFull` after everything except the commit was done, and changes
        /// nothing. By default, this fault affects additions, updates and deletions.
        public static let diskFull = Fault(
            .diskFull, "The test simulates a full disk. Nothing was changed.", at: .changed,
            operations: .writes)

        /// The operation fails with a given code and has no effect.
        ///
        /// - Parameter code: Any code except `duplicateItem` and `itemNotFound`. These are regular
        ///   results that the operations of `Keychain` handle without failing.
        /// - Returns: The fault, which by default affects all operations.
        public static func failure(_ code: KeychainError.Code) -> Fault {
            Fault(
                Status(rawValue: Int32(clamping: code.rawValue)), "The test injected this failure.")
        }

        /// The operation is delayed and then carried out.
        ///
        /// The thread that carries it out sleeps during the delay, as it does while it waits for a
        /// disk.
        ///
        /// - Parameter delay: The length of the delay, 0 or more.
        /// - Returns: The fault, which by default affects all operations.
        public static func slow(_ delay: Duration) -> Fault {
            Fault(effect: .delay(delay), moment: .entry, operations: .all)
        }

        /// The write is interrupted as by a crash. It leaves the same state as a crash: either the
        /// whole write or nothing. The operation fails with `ioError`, which doesn't tell the
        /// caller whether the write was carried out.
        ///
        /// The keychain continues to work. Call ``TestKeychain/restart()`` to continue as the next
        /// process does after a crash.
        ///
        /// - Parameter point: The point at which the write is interrupted.
        /// - Returns: The fault, which by default affects additions, updates and deletions.
        public static func stop(_ point: StopPoint) -> Fault {
            Fault(
                .ioError, "The test interrupted the write. It may have been carried out.",
                at: point.moment, operations: .writes)
        }

        private init(effect: Effect, moment: FaultMoment, operations: Operations) {
            self.effect = effect
            self.moment = moment
            self.operations = operations
        }

        private init(
            _ status: Status, _ reason: String, at moment: FaultMoment = .entry,
            operations: Operations = .all
        ) {
            self.init(
                effect: .failure(KeychainFailure(status, reason)), moment: moment,
                operations: operations)
        }
    }

    /// The point at which a write is interrupted.
    public struct StopPoint: Hashable, Sendable {
        let moment: FaultMoment

        /// After a number of statements that change the database. Nothing of the write is kept.
        ///
        /// - Parameter count: The number of statements, 0 or more. A write with fewer statements is
        ///   interrupted before its commit.
        /// - Returns: The point.
        public static func afterStep(_ count: Int) -> StopPoint {
            StopPoint(moment: .step(max(count, 0)))
        }

        /// After everything except the commit. Nothing of the write is kept.
        public static let beforeCommit = StopPoint(moment: .changed)

        /// After the commit. The whole write is kept, but the operation still fails.
        public static let afterCommit = StopPoint(moment: .committed)
    }

    /// The operations that a keychain performs.
    ///
    /// Each method of `Keychain` performs one or more of these operations. A load is a search. A
    /// save is an addition and, if the item exists, an update.
    public struct Operations: OptionSet, Hashable, Sendable {
        /// One bit for each operation.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Adding an item (`SecItemAdd`).
        public static let add = Operations(rawValue: 1)
        /// Finding items (`SecItemCopyMatching`).
        public static let search = Operations(rawValue: 2)
        /// Changing items (`SecItemUpdate`).
        public static let update = Operations(rawValue: 4)
        /// Deleting items (`SecItemDelete`).
        public static let delete = Operations(rawValue: 8)
        /// Creating a Secure Enclave key, or using one (`SecKeyCreateSignature`).
        public static let secureEnclave = Operations(rawValue: 16)
        /// All operations that change items.
        public static let writes: Operations = [.add, .update, .delete]
        /// All operations.
        public static let all: Operations = [.search, .writes, .secureEnclave]
    }
}

/// The moment in an operation at which a fault occurs.
enum FaultMoment: Hashable, Sendable {
    /// Before anything was done.
    case entry
    /// In the transaction, after a number of changing statements.
    case step(Int)
    /// Before the commit.
    case changed
    /// After the commit.
    case committed
}

// MARK: - Injection

extension TestKeychain {
    /// Injects a fault that affects operations from now on.
    ///
    /// Faults of the same moment are applied in the order in which they were injected. A delay and
    /// a failure can be combined. An operation is an occasion for a fault only if it reaches the
    /// fault's moment: for example, a write that finds a duplicate has no commit, so it can't be
    /// interrupted before the commit.
    ///
    /// Administrative calls, such as ``lock()`` or `database.check()`, and operations on earlier
    /// versions of items are never affected.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - operations: The operations to affect, or `nil` for the fault's default operations.
    ///     ``Fault/stop(_:)`` and ``Fault/diskFull`` have no effect on ``Operations/search`` and
    ///     ``Operations/secureEnclave``.
    ///   - skipped: The number of occasions to skip before the fault first occurs, 0 or more.
    ///   - count: The number of times that the fault occurs, 0 or more. If `nil`, it occurs until
    ///     ``removeFaults()`` is called.
    public func inject(
        _ fault: Fault, into operations: Operations? = nil, after skipped: Int = 0,
        times count: Int? = nil
    ) {
        faults.add(
            PlannedFault(
                fault: fault, operations: operations ?? fault.operations,
                skipCount: max(skipped, 0), remainingCount: max(count ?? .max, 0)))
    }

    /// Removes all injected faults. An operation that is already being delayed still waits until
    /// its delay ends.
    public func removeFaults() {
        faults.removeAll()
        subscribers.signal()
    }
}

/// An injected fault and the occasions on which it occurs.
struct PlannedFault: Sendable {
    let fault: TestKeychain.Fault
    let operations: TestKeychain.Operations
    var skipCount: Int
    var remainingCount: Int
}

final class FaultPlan: Sendable {
    private let planned = Mutex<[PlannedFault]>([])

    func add(_ fault: PlannedFault) {
        planned.withLock { $0.append(fault) }
    }

    func removeAll() {
        planned.withLock { $0 = [] }
    }

    /// The effects on an operation at a moment: all delays up to the first failure, and that
    /// failure.
    func take(
        _ operation: TestKeychain.Operations, where isNow: (FaultMoment) -> Bool
    ) -> [TestKeychain.Fault.Effect] {
        planned.withLock { planned in
            var effects: [TestKeychain.Fault.Effect] = []
            for index in planned.indices
            where planned[index].operations.contains(operation)
                && isNow(planned[index].fault.moment)
            {
                guard planned[index].skipCount == 0 else {
                    planned[index].skipCount -= 1
                    continue
                }
                guard planned[index].remainingCount > 0 else { continue }
                planned[index].remainingCount -= 1
                let effect = planned[index].fault.effect
                effects.append(effect)
                if case .failure = effect { break }
            }
            planned.removeAll { $0.remainingCount == 0 }
            return effects
        }
    }
}

#endif
