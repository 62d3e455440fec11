// Faults: what can be made to go wrong, with which operations, and whose turn it is.
//   (1) A fault is taken under one lock, so that one that comes once comes once, however many
//       threads there are.

#if !canImport(Darwin)

public import Keychain
import KeychainCore
import Synchronization

extension TestKeychain {
    /// Something that goes wrong with an operation.
    public struct Fault: Hashable, Sendable {
        enum Effect: Hashable, Sendable {
            case failure(KeychainFailure)
            case delay(Duration)
        }

        let effect: Effect
        let moment: FaultMoment
        /// The operations it is for unless the test names others.
        let operations: Operations

        /// The operation fails with `interactionNotAllowed` and does nothing, as on a locked
        /// device. For all operations but deletions, which a lock doesn't stop.
        ///
        /// ``TestKeychain/lock()`` is the real thing, and minds each item's accessibility. This
        /// is for a device that is locked in the middle of something.
        public static let locked = Fault(
            .interactionNotAllowed, "The test has the keychain locked.",
            operations: [.add, .search, .update, .secureEnclave])

        /// The operation fails with `authFailed` and does nothing: access was denied.
        public static let denied = Fault(.authFailed, "The test denies access.")

        /// A write fails with `diskFull` when all of it but the commit is done, and leaves
        /// nothing behind. For adding, updating and deleting.
        public static let diskFull = Fault(
            .diskFull, "The test has the disk full. Nothing was changed.", at: .changed,
            operations: .writes)

        /// The operation fails with a code of your choice and does nothing.
        ///
        /// - Parameter code: Any but `duplicateItem` and `itemNotFound`, which are answers: the
        ///   operations of `Keychain` act on them and don't fail.
        /// - Returns: The fault, for all operations.
        public static func failure(_ code: KeychainError.Code) -> Fault {
            Fault(Status(rawValue: Int32(clamping: code.rawValue)), "The test lets it fail.")
        }

        /// The operation takes longer, and is then carried out.
        ///
        /// The thread that carries it out sleeps meanwhile, as it does while a disk works.
        ///
        /// - Parameter delay: How much longer, 0 and up.
        /// - Returns: The fault, for all operations.
        public static func slow(_ delay: Duration) -> Fault {
            Fault(effect: .delay(delay), moment: .entry, operations: .all)
        }

        /// The write is stopped in the middle, as by a crash. What is left is what a crash
        /// leaves: all of it or nothing. The operation fails with `ioError`, from which its
        /// caller can't tell which of the two.
        ///
        /// The keychain goes on working afterwards. Call ``TestKeychain/restart()`` to go on as
        /// the next process does after a crash.
        ///
        /// - Parameter point: Where the write stops.
        /// - Returns: The fault, for adding, updating and deleting.
        public static func stop(_ point: StopPoint) -> Fault {
            Fault(
                .ioError, "The test stopped the write. It may have been carried out.",
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

    /// Where a write stops.
    public struct StopPoint: Hashable, Sendable {
        let moment: FaultMoment

        /// After some of the statements that change the database; nothing of the write is left.
        ///
        /// - Parameter count: How many, 0 and up. A write of fewer stops before its commit.
        /// - Returns: The point.
        public static func afterStep(_ count: Int) -> StopPoint {
            StopPoint(moment: .step(max(count, 0)))
        }

        /// After everything but the commit; nothing of the write is left.
        public static let beforeCommit = StopPoint(moment: .changed)

        /// After the commit: all of the write is there, and its caller doesn't know.
        public static let afterCommit = StopPoint(moment: .committed)
    }

    /// What a keychain is asked for.
    ///
    /// `Keychain` asks for one or several of these to do what its functions say. A load is a
    /// search. A save is an addition and, where the item exists, an update.
    public struct Operations: OptionSet, Hashable, Sendable {
        /// One bit for each operation.
        public let rawValue: Int

        /// The operations of these bits.
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
        /// Making a key in the Secure Enclave, or using one (`SecKeyCreateSignature`).
        public static let secureEnclave = Operations(rawValue: 16)
        /// Everything that changes the keychain.
        public static let writes: Operations = [.add, .update, .delete]
        /// Every operation.
        public static let all: Operations = [.search, .writes, .secureEnclave]
    }
}

/// When in an operation a fault comes.
enum FaultMoment: Hashable, Sendable {
    /// Before anything is done.
    case entry
    /// In the transaction, after so many changing statements.
    case step(Int)
    /// Before the commit.
    case changed
    /// After the commit.
    case committed
}

// MARK: - Faults to come

extension TestKeychain {
    /// Lets something go wrong with operations from now on.
    ///
    /// Faults of one moment are taken in the order in which they were injected; a delay and an
    /// error can come together. An occasion is an operation that gets as far as the fault does: a
    /// write that finds a duplicate has no commit to be stopped before.
    ///
    /// Administration, such as ``lock()`` or `database.check()`, is never disturbed.
    ///
    /// - Parameters:
    ///   - fault: What goes wrong.
    ///   - operations: What it goes wrong with. nil: whatever the fault is for. Stopping a
    ///     search has no effect.
    ///   - skipped: How many occasions pass before the first fault, 0 and up.
    ///   - count: How many times it comes, 0 and up. nil: until ``removeFaults()``.
    public func inject(
        _ fault: Fault, into operations: Operations? = nil, after skipped: Int = 0,
        times count: Int? = nil
    ) {
        faults.add(
            PlannedFault(
                fault: fault, operations: operations ?? fault.operations,
                skipCount: max(skipped, 0), remainingCount: max(count ?? .max, 0)))
    }

    /// Takes back every fault that was injected. Operations that are being delayed go on.
    public func removeFaults() {
        faults.removeAll()
        subscribers.signal()
    }
}

/// A fault with its occasions.
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

    /// What an operation meets at a moment: the delays that come before the first failure, and
    /// that failure.
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
