// Workers: the threads that carry out requests, which may wait for the disk.
//   (1) Look-ups and changes never wait for what takes long: deriving keys from a passcode or a
//       password, which takes a tenth of a second and much memory; going through a whole keychain;
//       the chip; and the files that tell who a caller is. Each of these has threads of its own.

import KeychainCore
import KeychainWire
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
            .statistics, .findVersions, .restoreVersion, .purgeVersions, .setHistory:
            .ordinary
        }
    }
}

final class Workers: Sendable {
    private let pool: FairPool
    private let derivations = FairPool(threadCount: 1)
    private let whole = FairPool(threadCount: 1)
    private let chip = FairPool(threadCount: 1)
    /// A file system that hangs keeps a thread for as long as it hangs.
    private let identification = FairPool(threadCount: 32, perParty: 2)

    init(count: Int) {
        pool = FairPool(threadCount: count)
    }

    func run(for party: Party, _ body: @escaping @Sendable () -> Void) {
        Self.run(on: pool, for: party, body)
    }

    /// Runs what reads the files that tell who a caller is.
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
        run(for: .watchdog) { [derivations] in
            derivations.submit(for: .watchdog) { isActive in
                if isActive { then() }
            }
        }
    }

    /// Waits for what is under way, and ends the threads. A file that hangs is not waited for.
    func stop() {
        identification.abandon()
        for pool in [pool, derivations, whole, chip] { pool.stop() }
    }
}
