// PeerHandshake: identifies the peer of a new connection: the process that connected and, in a
// user's service, the program that this process runs.
//   (1) The identity is read before the nonce is sent, and again after the nonce came back. Both
//       identities must be the same, and the process that connected must still be running.
//   (2) The answer must arrive over a new socket, which is created after the identity was first
//       read and is passed to the caller with the nonce. A program that the caller executed earlier
//       can't have inherited the new socket, even if its standard output is the first socket. If
//       the caller later executes a program that has another identity, the second reading finds
//       that identity. Nothing is ever read from the first socket.
//   (3) The kernel attaches the sender's credentials to all bytes of the answer, and only the
//       process that connected is accepted. So a program can't leave the answer to a child process
//       and execute another program itself.
//   (4) Nothing blocks. The thread that drives the handshake waits for the socket, for the results
//       of other threads, and for the deadline.
//   (5) While `PinnedProcess.isRunning` is true, the process id refers to the pinned process, not
//       to a later one with the same id. If the kernel can't pin the process that connected (before
//       Linux 6.5), the process that has its id now is pinned. That process is accepted only
//       after it has answered over the connection under that id and is still running.
//   (6) The path and the file of an executable must match: the file that the process runs has to be
//       the one at the path, as the service sees the file system. An executable that was deleted or
//       replaced, or that is at its path only in another mount namespace, is refused.
//   (7) On a dedicated socket the process isn't checked. A client that can connect to the socket
//       has the socket's identity, even if the kernel can't name the process.

import Glibc
import KeychainCore
import KeychainCrypto
import KeychainWire

struct PeerHandshake: Sendable {
    /// What the handshake waits for.
    enum Step: Hashable, Sendable {
        /// The identity of the process. Finding it may require reading files.
        case identity
        /// Bytes over the socket.
        case answer
    }

    let process: PinnedProcess
    let identification: Identification
    private(set) var step = Step.identity
    /// The socket over which the answer and all further messages arrive. Until the nonce is sent,
    /// it is the one over which the caller connected.
    private(set) var socket: OwnedDescriptor
    private var identity: Identity?
    /// The nonce that is sent and has to come back.
    private let question = Handshake.random().bytes
    private var answer: [UInt8] = []

    /// Begins the handshake with the socket over which the caller connected. Nothing may be read
    /// from that socket.
    init(
        _ first: OwnedDescriptor, by identification: Identification = .program,
        accepting isAccepted: (uid_t) -> Bool, isFull: (uid_t) -> Bool = { _ in false }
    ) throws(PeerRefusal) {
        self.identification = identification
        socket = first
        if case .socket = identification {
            process = try PinnedProcess(unpinnedOf: first)
        } else {
            process = try PinnedProcess(of: first)
        }
        guard isAccepted(process.uid) else { throw .otherUser(uid: process.uid) }
        guard !isFull(process.uid) else { throw .tooMany(uid: process.uid) }
    }

    /// Takes the identity that was found. The first call also sends the nonce.
    /// - Returns: The identified peer, or `nil` if the answer has to arrive first.
    mutating func take(_ found: Identity) throws(PeerRefusal) -> Peer? {
        guard let identity else {
            identity = found
            try ask()
            step = .answer
            return nil
        }
        guard found.isSame(as: identity) else {
            throw .changedExecutable(
                pid: process.pid, first: identity.texts.text, second: found.texts.text)
        }
        // Later bytes are received without checking their sender.
        guard Sockets.setPassingCredentials(false, socket) else { throw .unknownProcess }
        return Peer(pid: process.pid, uid: process.uid, identity: found)
    }

    /// Sends the nonce and the new socket over the one on which the caller connected.
    private mutating func ask() throws(PeerRefusal) {
        guard let (own, passed) = UnixSockets.pair() else {
            throw .unavailable(pid: process.pid, reason: errorText(errno))
        }
        Sockets.prepare(own.number)
        // The kernel reports the sender of all bytes from here on, before any process can know the
        // nonce.
        guard Sockets.setPassingCredentials(true, own) else { throw .unknownProcess }
        guard UnixSockets.send(question, passing: passed, to: socket) else {
            throw .endedProcess(pid: process.pid)
        }
        socket = own
    }

    /// Receives the bytes that have arrived.
    mutating func receive() throws(PeerRefusal) {
        while answer.count < question.count {
            switch Sockets.receive(atMost: question.count - answer.count, from: socket) {
            case .nothing: return
            case .ended: throw .endedProcess(pid: process.pid)
            case .bytes(let bytes, let sender):
                guard let sender, sender.pid == process.pid || !process.isPinned else {
                    throw .otherSender(pid: process.pid, sender: sender?.pid ?? 0)
                }
                answer += bytes
            }
        }
        guard answer == question else { throw .wrongNonce(pid: process.pid) }
        step = .identity
    }
}

struct Peer: Sendable {
    let pid: pid_t
    let uid: uid_t
    let identity: Identity
}

// MARK: - Refusals

/// Why a caller is refused. The description contains only what the service found out about the
/// process, nothing that the caller sent.
enum PeerRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kernel doesn't report the process: it has ended, or is in another PID namespace.
    case unknownProcess
    case otherUser(uid: uid_t)
    case endedProcess(pid: pid_t)
    case unreadableExecutable(pid: pid_t, reason: String)
    case replacedExecutable(pid: pid_t, path: String)
    case changedExecutable(pid: pid_t, first: String, second: String)
    /// A different process from the one that connected has answered.
    case otherSender(pid: pid_t, sender: pid_t)
    case wrongNonce(pid: pid_t)
    case timeLimit(pid: pid_t)
    /// The files that identify the process or define its rights couldn't be read in time.
    case slowFile(pid: pid_t)
    case tooMany(uid: uid_t)
    /// The service couldn't create a socket or read a file, for example for lack of descriptors.
    case unavailable(pid: pid_t, reason: String)

    var description: String {
        switch self {
        case .unknownProcess:
            "the kernel doesn't report which process connected: it has ended, or is in another PID "
                + "namespace, as in a container. Give the container a dedicated socket with "
                + "`keychainctl service socket add`"
        case .otherUser(let uid):
            "the process is of another user (uid \(uid))"
        case .endedProcess(let pid):
            "process \(pid) ended"
        case .unreadableExecutable(let pid, let reason):
            "the executable of process \(pid) can't be seen: \(reason). The process may forbid "
                + "tracing, or the file may be executable but not readable. Make the file "
                + "readable, or give the program a dedicated socket with `keychainctl service "
                + "socket add`"
        case .replacedExecutable(let pid, let path):
            "process \(pid) runs a file that is no longer at \(quoted(path)): the file was "
                + "replaced or deleted, or the process has a different view of the file system. "
                + "After an update, restart the program. Give a container a dedicated socket with "
                + "`keychainctl service socket add`"
        case .changedExecutable(let pid, let first, let second):
            "process \(pid) connected as \(quoted(first)) and answered as \(quoted(second))"
        case .otherSender(let pid, let sender):
            "process \(pid) connected, and process \(sender) answered"
        case .wrongNonce(let pid):
            "process \(pid) didn't answer with the nonce that it was sent"
        case .timeLimit(let pid):
            "process \(pid) didn't answer in time"
        case .slowFile(let pid):
            "the files that identify process \(pid) or define its rights can't be read in time: a "
                + "file system doesn't answer, or a file is very large"
        case .tooMany(let uid):
            "there are too many connections of the user (uid \(uid))"
        case .unavailable(let pid, let reason):
            "the service can't serve process \(pid) now: \(reason)"
        }
    }
}

extension PeerRefusal {
    /// The kind of refusal. Refusals of one kind are counted together in the log.
    var kind: String {
        switch self {
        case .unknownProcess: "unknown process"
        case .otherUser: "other user"
        case .endedProcess: "ended process"
        case .unreadableExecutable: "unreadable executable"
        case .replacedExecutable: "replaced executable"
        case .changedExecutable: "changed executable"
        case .otherSender: "other sender"
        case .wrongNonce: "wrong nonce"
        case .timeLimit: "time limit"
        case .slowFile: "slow file"
        case .tooMany: "too many connections"
        case .unavailable: "not available now"
        }
    }

    /// Sends the reason to the client without blocking. Bytes that the client's socket doesn't
    /// accept at once are not sent.
    func tell(_ socket: OwnedDescriptor) {
        let text =
            "The keychain service refuses this program: \(self). `keychainctl status` says which "
            + "keychain is in use."
        let failure: KeychainFailure =
            switch self {
            case .tooMany, .unavailable, .timeLimit, .slowFile, .endedProcess: .busy(text)
            default: .notPermitted(text)
            }
        Sockets.send(ServiceMessage.frame(id: 0, failure), to: socket)
    }
}

// MARK: - Processes

struct PinnedProcess: Sendable {
    let pid: pid_t
    let uid: uid_t
    /// The process file descriptor. `nil` if the process isn't checked.
    private let descriptor: OwnedDescriptor?

    /// The process that connected a socket, as the kernel reports it, without pinning. Its id may
    /// be 0, and another process may have the id later.
    init(unpinnedOf socket: OwnedDescriptor) throws(PeerRefusal) {
        guard let peer = UnixSockets.peer(of: socket) else { throw .unknownProcess }
        pid = peer.pid
        uid = peer.uid
        descriptor = nil
    }

    /// Pins the process that connected a socket. `pin` returns a process file descriptor, or `nil`
    /// with `errno` set.
    init(
        of socket: OwnedDescriptor,
        pin: (OwnedDescriptor, pid_t) -> OwnedDescriptor? = {
            Sockets.peerProcess(of: $0) ?? Processes.pin($1)
        }
    ) throws(PeerRefusal) {
        guard let peer = UnixSockets.peer(of: socket), peer.pid > 0 else { throw .unknownProcess }
        guard let descriptor = pin(socket, peer.pid) else {
            let code = errno
            throw code == ESRCH
                ? PeerRefusal.endedProcess(pid: peer.pid)
                : .unavailable(pid: peer.pid, reason: errorText(code))
        }
        pid = peer.pid
        uid = peer.uid
        self.descriptor = descriptor
    }

    var isPinned: Bool { descriptor != nil }

    private var isRunning: Bool { descriptor.map { Processes.isRunning($0) } ?? false }

    /// The executable that the process runs now.
    func executable() throws(PeerRefusal) -> Executable {
        try reading { pid throws(PeerRefusal) in try Executable(of: pid) }
    }

    /// The result of `body`, which reads data by process id. The result is returned only if the
    /// process was still running afterwards, so the data is about this process and not a later one.
    func reading<Result>(
        _ body: (pid_t) throws(PeerRefusal) -> Result
    ) throws(PeerRefusal) -> Result {
        do throws(PeerRefusal) {
            let result = try body(pid)
            guard isRunning else { throw PeerRefusal.endedProcess(pid: pid) }
            return result
        } catch {
            throw isRunning ? error : .endedProcess(pid: pid)
        }
    }
}

// MARK: - Program files

/// The program of a process, held open while its entitlements are determined.
struct Executable: Sendable {
    /// The path, absolute and without symbolic links.
    let path: String
    let file: FileIdentity
    /// A descriptor that refers to this file even if the path later leads to another file.
    private let descriptor: OwnedDescriptor

    /// The executable that a process runs now.
    init(of pid: pid_t) throws(PeerRefusal) {
        let link = "/proc/\(pid)/exe"
        guard let path = Files.target(ofLink: link), path.hasPrefix("/"),
            let descriptor = Files.locate(link), let status = Files.status(of: descriptor)
        else {
            throw .unreadableExecutable(pid: pid, reason: errorText(errno))
        }
        self.path = path
        self.descriptor = descriptor
        file = status.identity
        guard status.isPlainFile,
            let named = Files.status(ofLink: path)?.identity, named.isSameFile(as: file)
        else {
            throw .replacedExecutable(pid: pid, path: path)
        }
    }

    /// The program at a path, for comparison.
    init?(at path: String) {
        guard let descriptor = Files.locate(path), let status = Files.status(of: descriptor) else {
            return nil
        }
        self.path = path
        self.descriptor = descriptor
        file = status.identity
    }

    func isSame(as other: Executable) -> Bool {
        path == other.path && file.isSameFile(as: other.file)
    }

    /// The maximum size in bytes of a file that is digested. This limit bounds the work, since a
    /// sparse file of any size is easy to create.
    static let largestDigested: Int64 = 1 << 30

    var isTooLarge: Bool { file.size > Self.largestDigested }

    /// The SHA-256 of the running file. `nil` if it can't be read, is too large, or changed in the
    /// meantime.
    func digest() -> [UInt8]? {
        guard !isTooLarge,
            let content = Files.open("/proc/self/fd/\(descriptor.number)", O_RDONLY),
            let digest = try? Fingerprint.sha256(ofFile: content.number),
            Files.status(of: content)?.identity.isUnwritten(since: file) == true
        else { return nil }
        return digest
    }
}
