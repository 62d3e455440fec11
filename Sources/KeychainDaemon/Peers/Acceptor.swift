// Acceptor: the thread that accepts connections and identifies the callers.
//   (1) The thread waits for all callers at once. A caller that doesn't answer delays no other
//       caller. The limits in (3) and (5) apply to each user separately.
//   (2) The thread reads no files: other threads find out which program a process runs. A file
//       system that hangs delays only the callers whose programs are on it.
//   (3) If a user has reached the maximum number of handshakes, the oldest one is ended to make
//       room. A well-behaved client answers at once, so callers that never answer can't keep the
//       user's other callers out.
//   (4) Identified callers are passed on with their connection. Refused callers receive the reason,
//       or as much of it as the socket accepts without blocking, and are disconnected.
//   (5) A socket that was passed to a caller and not received counts as a file descriptor in
//       flight, which the system limits per sending user (unix(7), ETOOMANYREFS). So a caller that
//       doesn't receive its socket counts towards the limit of its user, even after it was refused,
//       until it receives the socket, closes its connection or exits.

import Dispatch
import Glibc
import KeychainCrypto
import Synchronization

final class Acceptor: Sendable {
    struct Rules: Sendable {
        /// Whether a user may use the service at all.
        var accepts: @Sendable (uid_t) -> Bool
        /// How callers are identified.
        var identification = Identification.program
        /// Identifies a process. It may block.
        var identify: @Sendable (PinnedProcess, Identification) throws(PeerRefusal) -> Identity = {
            process, identification throws(PeerRefusal) in
            try Identity(of: process, by: identification)
        }
        /// The maximum duration of a handshake.
        var timeLimit: Duration
        /// The maximum number of unfinished handshakes of one user.
        var handshakesPerUser: Int
        /// The maximum number of sockets that were passed to one user's callers and not received.
        /// Each counts towards the system's limit for the user of the service, see (5).
        var untakenPerUser: Int
    }

    private let listener: Int32
    private let rules: Rules
    private let waker: Waker
    private let isEnding = Atomic<Bool>(false)
    private let end = DispatchSemaphore(value: 0)
    private let run: @Sendable (Party, @escaping @Sendable () -> Void) -> Void
    private let onPeer: @Sendable (Peer, OwnedDescriptor) -> Void
    private let onRefusal: @Sendable (PeerRefusal, uid_t?) -> Void
    /// Results of identification that the thread has yet to process.
    private let found = Mutex<[(caller: UInt64, identity: Result<Identity, PeerRefusal>)]>([])

    /// - Parameters:
    ///   - listener: A non-blocking listening socket. The acceptor doesn't close it.
    ///   - rules: Who is accepted, and the limits.
    ///   - run: Runs work on another thread, as part of the share of the given ``Party``.
    ///   - onPeer: Receives each identified peer with its connection.
    ///   - onRefusal: Receives each refusal, with the user if it is known. `onPeer` and `onRefusal`
    ///     are called on the acceptor's thread and must not block.
    /// - Throws: If no file descriptors are left.
    init(
        _ listener: Int32, _ rules: Rules,
        run: @escaping @Sendable (Party, @escaping @Sendable () -> Void) -> Void,
        onPeer: @escaping @Sendable (Peer, OwnedDescriptor) -> Void,
        onRefusal: @escaping @Sendable (PeerRefusal, uid_t?) -> Void
    ) throws(ServiceFailure) {
        guard let waker = Waker() else {
            throw ServiceFailure("Can't listen: \(errorText(errno)).")
        }
        self.listener = listener
        self.rules = rules
        self.waker = waker
        self.run = run
        self.onPeer = onPeer
        self.onRefusal = onRefusal
    }

    /// Starts the thread.
    ///
    /// - Throws: If no thread can be started.
    func start() throws(ServiceFailure) {
        let isStarted = Threads.start { [self] in
            accept()
            end.signal()
        }
        guard isStarted else { throw ServiceFailure("Can't listen: no thread can be started.") }
    }

    /// Stops accepting callers, and closes the connections of those that aren't identified yet.
    /// Waits until that is done. A second call would wait forever.
    func stop() {
        isEnding.store(true, ordering: .releasing)
        waker.wake()
        end.wait()
    }

    // MARK: The thread

    private struct Caller {
        let number: UInt64
        var handshake: PeerHandshake
        /// The socket over which the caller connected.
        let first: OwnedDescriptor
        let deadline: ContinuousClock.Instant
    }

    /// How long at most no callers are accepted when no file descriptors or no memory is left, in
    /// milliseconds.
    private static let rest: Int32 = 100

    /// A caller that was refused and may not have received the socket that was passed to it.
    private struct Refused {
        let uid: uid_t
        let first: OwnedDescriptor
    }

    /// The callers that aren't identified yet, and those that were refused.
    private struct Arrivals {
        var callers: [Caller] = []
        var refused: [Refused] = []
        var nextNumber: UInt64 = 0

        func untakenCount(of uid: uid_t) -> Int {
            callers.count { $0.handshake.process.uid == uid } + refused.count { $0.uid == uid }
        }
    }

    private func accept() {
        var arrivals = Arrivals()
        var isExhausted = false
        while !isEnding.load(ordering: .acquiring) {
            var descriptors = [waker.descriptor]
            if !isExhausted { descriptors.append(listener) }
            let asked = arrivals.callers.filter { $0.handshake.step == .answer }
            let ready =
                Descriptor.ready(
                    among: descriptors + asked.map { $0.handshake.socket.number },
                    milliseconds: patience(arrivals.callers, isExhausted))
                ?? Array(repeating: false, count: descriptors.count + asked.count)
            if ready[0] { waker.rest() }
            takeIdentities(&arrivals)
            let answered = zip(asked, ready.dropFirst(descriptors.count)).filter { $1 }
            takeAnswers(of: Set(answered.map(\.0.number)), &arrivals)
            refuseLate(&arrivals)
            if isExhausted || ready[1] {
                arrivals.refused.removeAll { !Sockets.isUntaken($0.first) }
                isExhausted = !acceptSome(&arrivals)
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

    /// Identifies a caller on another thread.
    private func identify(_ caller: Caller) {
        let process = caller.handshake.process
        let number = caller.number
        let party: Party =
            rules.identification == .program ? .process(process.pid) : .user(process.uid)
        run(party) { [self] in
            let identity = Result { () throws(PeerRefusal) in
                try rules.identify(process, rules.identification)
            }
            found.withLock { $0.append((number, identity)) }
            waker.wake()
        }
    }

    private func takeIdentities(_ arrivals: inout Arrivals) {
        let found = found.withLock { found in
            defer { found = [] }
            return found
        }
        for (number, identity) in found {
            // The caller may have been refused in the meantime.
            guard let index = arrivals.callers.firstIndex(where: { $0.number == number }) else {
                continue
            }
            do throws(PeerRefusal) {
                guard let peer = try arrivals.callers[index].handshake.take(identity.get()) else {
                    continue
                }
                onPeer(peer, arrivals.callers.remove(at: index).handshake.socket)
            } catch {
                refuse(index, error, &arrivals)
            }
        }
    }

    private func takeAnswers(of numbers: Set<UInt64>, _ arrivals: inout Arrivals) {
        for number in numbers {
            guard let index = arrivals.callers.firstIndex(where: { $0.number == number }) else {
                continue
            }
            do throws(PeerRefusal) {
                try arrivals.callers[index].handshake.receive()
                if arrivals.callers[index].handshake.step == .identity {
                    identify(arrivals.callers[index])
                }
            } catch {
                refuse(index, error, &arrivals)
            }
        }
    }

    private func refuseLate(_ arrivals: inout Arrivals) {
        let now = ContinuousClock.now
        while let index = arrivals.callers.firstIndex(where: { $0.deadline <= now }) {
            let handshake = arrivals.callers[index].handshake
            let pid = handshake.process.pid
            let refusal: PeerRefusal =
                handshake.step == .answer ? .timeLimit(pid: pid) : .slowFile(pid: pid)
            refuse(index, refusal, &arrivals)
        }
    }

    private func refuse(_ index: Int, _ refusal: PeerRefusal, _ arrivals: inout Arrivals) {
        let caller = arrivals.callers.remove(at: index)
        let uid = caller.handshake.process.uid
        onRefusal(refusal, uid)
        refusal.tell(caller.handshake.socket)
        caller.handshake.socket.close()
        if Sockets.isUntaken(caller.first) {
            arrivals.refused.append(Refused(uid: uid, first: caller.first))
        }
    }

    /// The maximum number of callers that are accepted before those accepted earlier are served
    /// again.
    private static let acceptedAtOnce = 16

    /// - Returns: `false` if no file descriptors or no memory is left, so that no caller can be
    ///   accepted now.
    private func acceptSome(_ arrivals: inout Arrivals) -> Bool {
        for _ in 0..<Self.acceptedAtOnce {
            guard let socket = Sockets.accept(listener) else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return false
                default: return true
                }
            }
            admit(socket, &arrivals)
        }
        return true
    }

    private func admit(_ socket: OwnedDescriptor, _ arrivals: inout Arrivals) {
        do throws(PeerRefusal) {
            let handshake = try PeerHandshake(
                socket, by: rules.identification, accepting: rules.accepts,
                isFull: { arrivals.untakenCount(of: $0) >= rules.untakenPerUser })
            let uid = handshake.process.uid
            let isOfUser = { (caller: Caller) in caller.handshake.process.uid == uid }
            if arrivals.callers.count(where: isOfUser) >= rules.handshakesPerUser,
                let oldest = arrivals.callers.firstIndex(where: isOfUser)
            {
                refuse(oldest, .tooMany(uid: uid), &arrivals)
            }
            arrivals.nextNumber += 1
            let caller = Caller(
                number: arrivals.nextNumber, handshake: handshake, first: socket,
                deadline: .now.advanced(by: rules.timeLimit))
            arrivals.callers.append(caller)
            identify(caller)
        } catch {
            onRefusal(error, UnixSockets.peer(of: socket)?.uid)
            error.tell(socket)
            socket.close()
        }
    }
}
