// Workers: the threads that carry out requests, which may wait for the disk.
//   (1) Ordinary requests don't queue behind slow work. There are separate threads for deriving
//       keys from passcodes and passwords, for operations on a whole keychain, for the chip, and
//       for reading the files that identify a caller. Deriving a key takes at least a tenth of a
//       second and much memory.
//   (2) A request for the secret of one item is answered on the event loop if it doesn't have to
//       wait for another request or process, because switching threads twice would take longer than
//       the answer. An event loop answers only a few such requests before it handles its other
//       connections, so that the other connections don't wait for long.

import KeychainCore
import KeychainWire
import NIOCore
import Synchronization

/// The outcome of handling a frame.
enum Outcome: Sendable {
    case answer([FrameBuffer])
    /// The connection has to be closed for the given reason.
    case end(KeychainFailure)
}

/// The kind of threads that a request runs on.
enum Work: Sendable {
    case ordinary
    /// Derives keys from a passcode or a password, which is deliberately slow.
    case derivation
    /// Processes a whole keychain.
    case whole
    /// Waits for the machine's chip, a TPM.
    case chip
}

extension RequestCode {
    var work: Work {
        switch self {
        // Setting a passcode creates a new database.
        case .check, .rotate, .setPasscode: .whole
        case .makeSecureEnclaveKey, .sign, .sharedSecret: .chip
        case .authenticate, .unlock, .changePasscode, .removePasscode, .unlockWith, .changeSlots:
            .derivation
        case .add, .addAll, .find, .update, .put, .delete, .findIdentities, .updateIdentities,
            .deleteIdentities, .hasPasscode, .hasSecureEnclave, .lock, .lockAll, .status, .slots,
            .statistics, .findVersions, .restoreVersion, .purgeVersions, .setHistory,
            .synchronize, .acceptsGrant:
            .ordinary
        }
    }
}

final class Workers: Sendable {
    private let pool: FairPool
    private let derivations = FairPool(threadCount: 1)
    private let whole = FairPool(threadCount: 1)
    private let chip = FairPool(threadCount: 1)
    /// A file system that hangs occupies a thread for as long as it hangs.
    private let identification = FairPool(threadCount: 32, perParty: 2)

    /// The number of calls of ``takeTurn(of:_:)`` for each event loop since the loop last handled
    /// its other events.
    private let turnCounts = Mutex<[ObjectIdentifier: Int]>([:])

    init(count: Int) {
        pool = FairPool(threadCount: count)
    }

    func run(for party: Party, _ body: @escaping @Sendable () -> Void) {
        Self.run(on: pool, for: party, body)
    }

    /// Submits work that is also called, with `isActive` set to `false`, if the service ends before
    /// the work was started.
    func submit(for party: Party, _ work: @escaping FairPool.Work) {
        pool.submit(for: party, work)
    }

    /// Runs work that reads the files which identify a caller.
    func identify(for party: Party, _ body: @escaping @Sendable () -> Void) {
        Self.run(on: identification, for: party, body)
    }

    private static func run(
        on pool: FairPool, for party: Party, _ body: @escaping @Sendable () -> Void
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

    /// Asks for a turn to answer a request on the event loop on which the caller runs.
    ///
    /// - Parameters:
    ///   - eventLoop: Identifies the event loop.
    ///   - execute: Submits a task to the event loop.
    /// - Returns: Whether a request may be answered on the event loop. After ``turnLimit`` requests
    ///   this is `false` until the loop has handled its other events.
    func takeTurn(
        of eventLoop: ObjectIdentifier, _ execute: (@escaping @Sendable () -> Void) -> Void
    ) -> Bool {
        let count = turnCounts.withLock { counts in
            defer { counts[eventLoop, default: 0] += 1 }
            return counts[eventLoop, default: 0]
        }
        if count == 0 { execute { [self] in turnCounts.withLock { $0[eventLoop] = 0 } } }
        return count < Self.turnLimit
    }

    private static let turnLimit = 16

    /// Decodes a frame and carries out the request in it.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - session: The session of the connection.
    ///   - eventLoop: The event loop on which the caller runs, if the request may be answered on
    ///     it.
    ///   - then: Receives the outcome, on any thread.
    func answer(
        _ frame: FrameBuffer, of session: PeerSession, on eventLoop: (any EventLoop)?,
        then: @escaping @Sendable (Outcome) -> Void
    ) {
        var early: ReceivedMessage?
        if let eventLoop, frame.count <= Self.lookUpByteLimit,
            let lookUp = ReceivedMessage.lookUp(in: frame),
            takeTurn(of: ObjectIdentifier(eventLoop), eventLoop.execute)
        {
            early = lookUp
        }
        if let frames = early?.answerAtOnce(in: session) { return then(.answer(frames)) }
        pool.submit(for: session.party) { [self, early] isActive in
            guard isActive else { return then(Self.stopped) }
            let message: ReceivedMessage
            do throws(KeychainFailure) {
                message = if let early { early } else { try ReceivedMessage(frame) }
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

    /// The maximum size in bytes of a frame that is decoded on the event loop.
    private static let lookUpByteLimit = 4096

    private static func outcome(of message: ReceivedMessage, in session: PeerSession) -> Outcome {
        do throws(KeychainFailure) {
            return .answer(try message.answer(in: session))
        } catch {
            return .end(error)
        }
    }

    /// The failure of work that wasn't started before the service ended.
    static let ending = KeychainFailure.busy("The keychain service is ending.")

    private static let stopped = Outcome.end(ending)

    /// Calls `then` after both an ordinary thread and a derivation thread have taken the probe from
    /// their queues.
    func probe(_ then: @escaping @Sendable () -> Void) {
        // The watchdog is a separate party, so that no other party's queue delays it.
        run(for: .watchdog) { [derivations] in
            derivations.submit(for: .watchdog) { isActive in
                if isActive { then() }
            }
        }
    }

    /// Ends the threads, and waits for their current work, except that of the threads that identify
    /// callers: reading a file may hang.
    func stop() {
        identification.abandon()
        for pool in [pool, derivations, whole, chip] { pool.stop() }
    }
}
