// FairPool: threads that several parties share.
//   (1) They take turns among the parties, round robin: one piece of work of each. The pieces of one
//       party are begun in their order.
//   (2) A party has no more threads at the same time than it may. So what hangs keeps that party
//       waiting, and no other one.

import NIOCore
import NIOPosix
import Synchronization

/// Among whom the service's threads and connections are shared.
enum Party: Hashable, Sendable {
    /// The service itself.
    case service
    /// What asks whether the threads take work.
    case watchdog
    /// A user of the machine's service.
    case user(uid_t)
    /// In a user's service, a program: the hash of what it is known by.
    case program(Int)
    /// In a user's service, a process of which it isn't known yet what it runs.
    case process(pid_t)
}

final class FairPool: Sendable {
    /// Told whether the pool still works, or ended before it came to this.
    typealias Work = @Sendable (_ isActive: Bool) -> Void

    private struct State {
        var waiting: [Party: CircularBuffer<Work>] = [:]
        /// Those who have work that waits and may have another thread, the next one first.
        var turns: CircularBuffer<Party> = []
        /// How many threads a party has.
        var busy: [Party: Int] = [:]
        let limit: Int
        var isStopping = false

        mutating func add(_ work: @escaping Work, for party: Party) {
            if waiting[party] == nil, mayHaveAnother(party) { turns.append(party) }
            waiting[party, default: []].append(work)
        }

        private func mayHaveAnother(_ party: Party) -> Bool { busy[party, default: 0] < limit }

        mutating func begin() -> (party: Party, work: Work, isActive: Bool)? {
            guard let party = turns.popFirst(), let work = waiting[party]?.popFirst() else {
                return nil
            }
            busy[party, default: 0] += 1
            if waiting[party]?.isEmpty == true {
                waiting[party] = nil
            } else if mayHaveAnother(party) {
                turns.append(party)
            }
            return (party, work, !isStopping)
        }

        mutating func end(_ party: Party) {
            let hadAll = !mayHaveAnother(party)
            busy[party, default: 1] -= 1
            if busy[party] == 0 { busy[party] = nil }
            if hadAll, waiting[party] != nil { turns.append(party) }
        }
    }

    private let threads: NIOThreadPool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - threadCount: How many threads there are.
    ///   - perParty: The most of them that one party has at the same time.
    init(threadCount: Int, perParty: Int = .max) {
        threads = NIOThreadPool(numberOfThreads: threadCount)
        state = Mutex(State(limit: perParty))
        threads.start()
    }

    func submit(for party: Party, _ work: @escaping Work) {
        state.withLock { $0.add(work, for: party) }
        // Whose turn it is shows when it comes. A thread goes on while somebody has one.
        threads.submit { [self] _ in
            while let (party, work, isActive) = state.withLock({ $0.begin() }) {
                work(isActive)
                state.withLock { $0.end(party) }
            }
        }
    }

    /// Waits for what is under way, and ends the threads.
    func stop() {
        state.withLock { $0.isStopping = true }
        try? threads.syncShutdownGracefully()
    }

    /// Ends the threads, each after what it is doing, and waits for none.
    func abandon() {
        state.withLock { $0.isStopping = true }
        threads.shutdownGracefully { _ in }
    }
}
