// FairPool: threads that parties with much work share with parties with little.
//   (1) Work of one party is done in its order. Between parties it goes round: one piece of each.

import NIOCore
import NIOPosix
import Synchronization

final class FairPool: Sendable {
    /// Told whether the pool still works, or ended before it came to this.
    typealias Work = @Sendable (_ isActive: Bool) -> Void

    private struct State {
        var waiting: [UInt64: CircularBuffer<Work>] = [:]
        /// Those for whom something is waiting, the next one first.
        var turns: CircularBuffer<UInt64> = []

        mutating func add(_ work: @escaping Work, for party: UInt64) {
            if waiting[party] == nil { turns.append(party) }
            waiting[party, default: []].append(work)
        }

        mutating func next() -> Work? {
            guard let party = turns.popFirst(), let work = waiting[party]?.popFirst() else {
                return nil
            }
            if waiting[party]?.isEmpty == true {
                waiting[party] = nil
            } else {
                turns.append(party)
            }
            return work
        }
    }

    private let threads: NIOThreadPool
    private let state = Mutex(State())

    init(threadCount: Int) {
        threads = NIOThreadPool(numberOfThreads: threadCount)
        threads.start()
    }

    func submit(for party: UInt64, _ work: @escaping Work) {
        state.withLock { $0.add(work, for: party) }
        // As many turns as pieces of work; whose turn it is shows when it comes.
        threads.submit { [self] threadState in
            let isActive = if case .active = threadState { true } else { false }
            state.withLock { $0.next() }?(isActive)
        }
    }

    /// Waits for what is under way, and ends the threads.
    func stop() { try? threads.syncShutdownGracefully() }
}
