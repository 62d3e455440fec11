// Acceptor: the thread that accepts connections and finds out who made them.
//   (1) It waits for all of them at once: one that doesn't answer keeps no other one waiting, as
//       long as their user has connections left.
//   (2) It reads no files: what a process runs is read by other threads, and a file system that
//       doesn't answer costs the caller its time and nobody else anything.
//   (3) Where a user has no place left on the way in, the one who has been silent for longest makes
//       room: an honest caller answers at once, so callers who never answer keep nobody out.
//   (4) Who is known is handed on with the connection; everybody else is told why, as far as the
//       socket takes it at once, and the connection is closed.
//   (5) A socket that was sent and isn't taken counts against the sender: the system lets a user
//       have so many of them under way. So a caller who doesn't take it keeps its place among those
//       of its user, also when it was refused, until it takes it or ends.

import Dispatch
import Glibc
import KeychainCrypto
import Synchronization

final class Acceptor: Sendable {
    struct Rules: Sendable {
        /// Whether a user may speak to the service at all.
        var accepts: @Sendable (uid_t) -> Bool
        /// How it finds out who connects.
        var identification = Identification.program
        /// Finds out what a process is known by; it may block.
        var identify: @Sendable (PinnedProcess, Identification) throws(PeerRefusal) -> Identity = {
            process, identification throws(PeerRefusal) in
            try Identity(of: process, by: identification)
        }
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
    private let run: @Sendable (Party, @escaping @Sendable () -> Void) -> Void
    private let onPeer: @Sendable (Peer, OwnedDescriptor) -> Void
    private let onRefusal: @Sendable (PeerRefusal, uid_t?) -> Void
    /// What was found out, and is to be taken by the thread.
    private let found = Mutex<[(caller: UInt64, identity: Result<Identity, PeerRefusal>)]>([])

    /// - Parameters:
    ///   - listener: A socket that listens and doesn't block; it stays the caller's.
    ///   - rules: Who is accepted, and how many.
    ///   - run: Has some other thread do something for a party.
    ///   - onPeer: Given each peer with its connection.
    ///   - onRefusal: Told of everybody else, with the user where that is known. Both are called on the
    ///     acceptor's thread, which must not be blocked.
    /// - Throws: Where there are no descriptors left.
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

    /// - Throws: Where the system gives no thread.
    func start() throws(ServiceFailure) {
        let isStarted = Threads.start { [self] in
            accept()
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
        let number: UInt64
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

    /// Who is on the way in.
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

    /// Has another thread find out what a caller is known by.
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
            // It may have been refused meanwhile.
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

    /// The most that are accepted before those are looked after again who were accepted before.
    private static let acceptedAtOnce = 16

    /// - Returns: False when there are no descriptors left, so that no caller can be accepted now.
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
