// FaultPlan: the faults that are to come, and whose turn it is.
//   (1) A fault is taken under one lock, so that one that comes once comes once, however many
//       threads there are.

#if !canImport(Darwin)

import Keychain
import KeychainCore
import Synchronization

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
