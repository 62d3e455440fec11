// Workers: the threads that carry out requests, which may wait for the disk.
//   (1) Look-ups and changes never wait for what takes long: deriving keys from a passcode or a
//       password, which takes a tenth of a second and much memory; going through a whole keychain;
//       the chip; and the files that tell who a caller is. Each of these has threads of its own.
//   (2) The threads take turns among clients, or users: work of one party is done in its order, and
//       between parties it goes round, one piece of each.

import KeychainCore
import KeychainWire
import NIOCore
import NIOPosix
import Synchronization

/// What becomes of a frame.
enum Outcome: Sendable {
    case answer([FrameBuffer])
    /// The connection can't go on.
    case end(KeychainFailure)
}

/// What a request is carried out by.
enum Work: Sendable {
    case ordinary
    /// Derives keys from a passcode or a password, slowly on purpose.
    case derivation
    /// Goes through a whole keychain.
    case whole
    /// Waits for the chip.
    case chip
}

extension RequestCode {
    var work: Work {
        switch self {
        // A new passcode is one for a new database.
        case .check, .rotate, .setPasscode: .whole
        case .makeSecureEnclaveKey, .sign, .sharedSecret: .chip
        case .authenticate, .unlock, .changePasscode, .removePasscode, .unlockWith, .changeSlots:
            .derivation
        case .add, .addAll, .find, .update, .put, .delete, .findIdentities, .updateIdentities,
            .deleteIdentities, .hasPasscode, .hasSecureEnclave, .lock, .lockAll, .status, .slots,
            .statistics:
            .ordinary
        }
    }
}

final class Workers: Sendable {
    private let pool: FairPool
    private let derivations = FairPool(threadCount: 1)
    private let whole = FairPool(threadCount: 1)
    private let chip = FairPool(threadCount: 1)
    private let identification = FairPool(threadCount: 4)

    init(count: Int) {
        pool = FairPool(threadCount: count)
    }

    func run(for party: UInt64, _ body: @escaping @Sendable () -> Void) {
        Self.run(on: pool, for: party, body)
    }

    /// Runs what reads the files that tell who a caller is.
    func identify(for party: UInt64, _ body: @escaping @Sendable () -> Void) {
        Self.run(on: identification, for: party, body)
    }

    private static func run(
        on pool: FairPool, for party: UInt64, _ body: @escaping @Sendable () -> Void
    ) {
        pool.submit(for: party) { isActive in
            if isActive { body() }
        }
    }

    private func pool(for work: Work) -> FairPool? {
        switch work {
        case .ordinary: nil
        case .derivation: derivations
        case .whole: whole
        case .chip: chip
        }
    }

    /// Reads a frame and carries out the request in it.
    ///
    /// `then` is given what comes of it, on any thread.
    func answer(
        _ frame: FrameBuffer, of session: PeerSession, then: @escaping @Sendable (Outcome) -> Void
    ) {
        pool.submit(for: session.party) { [self] isActive in
            guard isActive else { return then(Self.stopped) }
            let message: ReceivedMessage
            do throws(KeychainFailure) {
                message = try ReceivedMessage(frame)
            } catch {
                return then(.end(error))
            }
            guard let other = pool(for: message.work) else {
                return then(Self.outcome(of: message, in: session))
            }
            other.submit(for: session.party) { isActive in
                guard isActive else { return then(Self.stopped) }
                then(Self.outcome(of: message, in: session))
            }
        }
    }

    private static func outcome(of message: ReceivedMessage, in session: PeerSession) -> Outcome {
        do throws(KeychainFailure) {
            return .answer(try message.answer(in: session))
        } catch {
            return .end(error)
        }
    }

    private static let stopped = Outcome.end(
        KeychainFailure(.notAvailable, "The keychain service is ending.", cause: .contention))

    /// Calls `then` from a thread that took this from its queue, once both kinds of threads did.
    func probe(_ then: @escaping @Sendable () -> Void) {
        // A party of its own, which no other keeps waiting.
        run(for: .max) { [derivations] in
            derivations.submit(for: .max) { isActive in
                if isActive { then() }
            }
        }
    }

    /// Waits for what is under way, and ends the threads.
    func stop() {
        for pool in [identification, pool, derivations, whole, chip] { pool.stop() }
    }
}

// MARK: - Turns

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
