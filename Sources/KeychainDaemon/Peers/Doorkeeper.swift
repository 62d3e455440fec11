// Doorkeeper: the thread that accepts connections and finds out who made them.
//   (1) It waits for all of them at once: one that doesn't answer keeps no other one waiting, as
//       long as their user has connections left.
//   (2) Where a user has no place left on the way in, the one who has been silent for longest makes
//       room: an honest caller answers at once, so callers who never answer keep nobody out.
//   (3) Who is known is handed on with the connection; everybody else is told why, as far as the
//       socket takes it at once, and the connection is closed.
//   (3) A socket that was sent and isn't taken counts against the sender: the system lets a user
//       have so many of them under way. So a caller who doesn't take it keeps its place among those
//       of its user, also when it was refused, until it takes it or ends.

import Dispatch
import Glibc
import KeychainCrypto
import Synchronization

final class Doorkeeper: Sendable {
    struct Rules: Sendable {
        /// Whether a user may speak to the service at all.
        var accepts: @Sendable (uid_t) -> Bool
        /// How it finds out who connects.
        var identification = Identification.program
        /// How long a handshake may take.
        var timeLimit: Duration
        /// The most handshakes under way at once for one user.
        var handshakesPerUser: Int
        /// The most sockets that were sent to one user's callers and not taken: each uses up what the
        /// system lets the service send.
        var untakenPerUser: Int
    }

    private let listener: Int32
    private let rules: Rules
    private let waker: Waker
    private let isEnding = Atomic<Bool>(false)
    private let end = DispatchSemaphore(value: 0)
    private let onPeer: @Sendable (Peer, OwnedDescriptor) -> Void
    private let onRefusal: @Sendable (PeerRefusal) -> Void

    /// `listener` is a socket that listens and doesn't block; it stays the caller's. `onPeer` is
    /// given each peer with its connection, `onRefusal` told of everybody else: both on the
    /// doorkeeper's thread, which must not be blocked.
    init(
        _ listener: Int32, _ rules: Rules,
        onPeer: @escaping @Sendable (Peer, OwnedDescriptor) -> Void,
        onRefusal: @escaping @Sendable (PeerRefusal) -> Void
    ) throws(ServiceFailure) {
        guard let waker = Waker() else {
            throw ServiceFailure("Can't listen: \(errorText(errno)).")
        }
        self.listener = listener
        self.rules = rules
        self.waker = waker
        self.onPeer = onPeer
        self.onRefusal = onRefusal
    }

    /// - Throws: Where the system gives no thread.
    func start() throws(ServiceFailure) {
        let isStarted = Threads.start { [self] in
            run()
            end.signal()
        }
        guard isStarted else { throw ServiceFailure("Can't listen: no thread can be started.") }
    }

    /// Accepts no caller any more, and closes the connections of those who aren't known yet. Waits
    /// until that is done. It is called once.
    func stop() {
        isEnding.store(true, ordering: .releasing)
        waker.wake()
        end.wait()
    }

    // MARK: The thread

    private struct Caller {
        var handshake: PeerHandshake
        /// The socket that the caller made.
        let first: OwnedDescriptor
        let deadline: ContinuousClock.Instant
    }

    /// How long accepting rests when the process has no descriptors left, in milliseconds.
    private static let rest: Int32 = 100

    /// Those who were refused, and may not have taken what they were sent.
    private struct Refused {
        let uid: uid_t
        let first: OwnedDescriptor
    }

    private func run() {
        var callers: [Caller] = []
        var refused: [Refused] = []
        var isExhausted = false
        while !isEnding.load(ordering: .acquiring) {
            var descriptors = [waker.descriptor]
            if !isExhausted { descriptors.append(listener) }
            let first = descriptors.count
            descriptors += callers.map { $0.handshake.socket.number }
            let ready =
                Descriptor.ready(
                    among: descriptors, milliseconds: patience(callers, isExhausted))
                ?? descriptors.map { _ in false }
            if ready[0] { waker.rest() }
            proceed(&callers, &refused, ready: ready[first...])
            if isExhausted || ready[1] {
                refused.removeAll { !Sockets.isUntaken($0.first) }
                isExhausted = !acceptSome(&callers, besides: &refused)
            }
        }
    }

    private func patience(_ callers: [Caller], _ isExhausted: Bool) -> Int32 {
        guard let deadline = callers.map(\.deadline).min() else {
            return isExhausted ? Self.rest : -1
        }
        let left = ContinuousClock.now.duration(to: deadline) / Duration.milliseconds(1)
        let milliseconds = Int32(clamping: Int(max(left, 0).rounded(.up)))
        return isExhausted ? min(milliseconds, Self.rest) : milliseconds
    }

    private func proceed(
        _ callers: inout [Caller], _ refused: inout [Refused], ready: ArraySlice<Bool>
    ) {
        let now = ContinuousClock.now
        var waiting: [Caller] = []
        for (var caller, isReady) in zip(callers, ready) {
            do throws(PeerRefusal) {
                if isReady, let peer = try caller.handshake.proceed() {
                    onPeer(peer, caller.handshake.socket)
                } else if caller.deadline <= now {
                    throw .timeLimit(pid: caller.handshake.process.pid)
                } else {
                    waiting.append(caller)
                }
            } catch {
                refuse(caller, error, &refused)
            }
        }
        callers = waiting
    }

    private func refuse(_ caller: Caller, _ refusal: PeerRefusal, _ refused: inout [Refused]) {
        onRefusal(refusal)
        refusal.tell(caller.handshake.socket)
        caller.handshake.socket.close()
        if Sockets.isUntaken(caller.first) {
            refused.append(Refused(uid: caller.handshake.process.uid, first: caller.first))
        }
    }

    /// The most that are accepted before those are looked after again who were accepted before.
    private static let acceptedAtOnce = 16

    /// - Returns: False when there are no descriptors left, so that no caller can be accepted now.
    private func acceptSome(_ callers: inout [Caller], besides refused: inout [Refused]) -> Bool {
        for _ in 0..<Self.acceptedAtOnce {
            guard let socket = Sockets.accept(listener) else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return false
                default: return true
                }
            }
            do throws(PeerRefusal) {
                let handshake = try PeerHandshake(
                    socket, by: rules.identification, accepting: rules.accepts,
                    isFull: { uid in
                        let others =
                            callers.count { $0.handshake.process.uid == uid }
                            + refused.count { $0.uid == uid }
                        return others >= rules.untakenPerUser
                    })
                let uid = handshake.process.uid
                let isOfUser = { (caller: Caller) in caller.handshake.process.uid == uid }
                if callers.count(where: isOfUser) >= rules.handshakesPerUser,
                    let oldest = callers.firstIndex(where: isOfUser)
                {
                    refuse(callers.remove(at: oldest), .tooMany(uid: uid), &refused)
                }
                callers.append(
                    Caller(
                        handshake: handshake, first: socket,
                        deadline: .now.advanced(by: rules.timeLimit)))
            } catch {
                onRefusal(error)
                error.tell(socket)
                socket.close()
            }
        }
        return true
    }
}
