// Workers: the threads that carry out requests, which may wait for the disk.
//   (1) What derives keys from a passcode or a password has a thread of its own: it takes a tenth
//       of a second and much memory, and others don't wait for it.
//   (2) The threads take turns among clients, or users.

import KeychainCore
import KeychainWire

/// What becomes of a frame.
enum Outcome: Sendable {
    case answer([FrameBuffer])
    /// The connection can't go on.
    case end(KeychainFailure)
}

final class Workers: Sendable {
    private let pool: FairPool
    private let derivations: FairPool

    init(count: Int) {
        pool = FairPool(threadCount: count)
        derivations = FairPool(threadCount: 1)
    }

    func run(for party: UInt64, _ body: @escaping @Sendable () -> Void) {
        pool.submit(for: party) { isActive in
            if isActive { body() }
        }
    }

    /// Reads a frame and carries out the request in it.
    ///
    /// `then` is given what comes of it, on any thread.
    func answer(
        _ frame: FrameBuffer, of session: PeerSession, then: @escaping @Sendable (Outcome) -> Void
    ) {
        pool.submit(for: session.party) { [derivations] isActive in
            guard isActive else { return then(Self.stopped) }
            let message: ReceivedMessage
            do throws(KeychainFailure) {
                message = try ReceivedMessage(frame)
            } catch {
                return then(.end(error))
            }
            guard message.derivesKeys else { return then(Self.outcome(of: message, in: session)) }
            derivations.submit(for: session.party) { isActive in
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

    /// Waits for what is under way, and ends the threads.
    func stop() {
        pool.stop()
        derivations.stop()
    }
}
