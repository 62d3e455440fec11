// FairPool: a round-robin thread pool with one queue per party.
//   (1) The threads take one piece of work of each party in turn. The work of one party is started
//       in the order in which it was submitted.
//   (2) A pool can limit the number of threads that one party occupies at a time. Work that hangs
//       then delays only its own party, unless it occupies all threads of the pool.

import NIOCore
import NIOPosix
import Synchronization

/// A program, a user or a part of the service: the unit among which the service's threads,
/// connections and buffers are shared equally.
enum Party: Hashable, Sendable {
    /// The service itself.
    case service
    /// The watchdog, which probes whether the threads accept work.
    case watchdog
    /// A user. In the machine's service, all programs of a user are one party. In both services, a
    /// caller of a dedicated socket belongs to its user's party until it is identified, and the
    /// verification of a keychain to the party of the keychain's owner. Requests for the secrets of
    /// units belong to root's party.
    case user(uid_t)
    /// In a user's service, a program: the hash of its identity.
    case program(Int)
    /// In a user's service, a process whose program isn't identified yet.
    case process(pid_t)
}

final class FairPool: Sendable {
    /// A piece of work. `isActive` is `false` if the pool was stopped before the work was started.
    typealias Work = @Sendable (_ isActive: Bool) -> Void

    private struct State {
        var waiting: [Party: CircularBuffer<Work>] = [:]
        /// The parties that have waiting work and may occupy another thread, the next one first.
        var turns: CircularBuffer<Party> = []
        /// The number of threads that each party occupies.
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
    ///   - threadCount: The number of threads.
    ///   - perParty: The maximum number of threads that one party occupies at a time.
    init(threadCount: Int, perParty: Int = .max) {
        threads = NIOThreadPool(numberOfThreads: threadCount)
        state = Mutex(State(limit: perParty))
        threads.start()
    }

    func submit(for party: Party, _ work: @escaping Work) {
        state.withLock { $0.add(work, for: party) }
        // A thread that becomes free chooses the next party, not necessarily this one, and goes on
        // until no party is due.
        threads.submit { [self] _ in
            while let (party, work, isActive) = state.withLock({ $0.begin() }) {
                work(isActive)
                state.withLock { $0.end(party) }
            }
        }
    }

    /// Ends the threads, and waits for them to finish their current work. Work that wasn't started
    /// is called with `isActive` set to `false`.
    func stop() {
        state.withLock { $0.isStopping = true }
        try? threads.syncShutdownGracefully()
    }

    /// Ends each thread after its current work, without waiting.
    func abandon() {
        state.withLock { $0.isStopping = true }
        threads.shutdownGracefully { _ in }
    }
}
