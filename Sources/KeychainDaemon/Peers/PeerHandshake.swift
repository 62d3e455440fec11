// PeerHandshake: finding out who is at the other end of a new connection: the process that made it
// and, in a user's service, the program file that this process runs.
//   (1) The identity is read before the nonce is sent, and again after it came back; it must be
//       the same, and the process that connected must be running still.
//   (2) The answer has to come over a socket that is made after the executable was read, and goes
//       to the caller with the nonce. A program that the caller became before that can't have
//       inherited it, whatever its standard output is; one that the caller becomes later isn't the
//       program that was read. What comes over the first socket is never read.
//   (3) The kernel says of every byte of the answer who sent it: only the process that connected
//       counts. So a program can't leave the answer to a child and become another program.
//   (4) Nothing blocks. The thread that drives the handshake waits for the descriptor, for what
//       another thread reads, and for the time.
//   (5) While `PinnedProcess.isRunning` is true, the number is that of the process which was
//       pinned, and not of one that got its number later. Where the kernel can't pin the process
//       that connected (before 6.5), the one that has its number now is pinned. It is taken for the
//       other only once it has answered under that number on the connection, and was still running
//       after.
//   (6) Path and file of an executable belong together: the file that the process runs is the one
//       that stands at the path, as this process sees it. A program that was deleted, replaced, or
//       that runs in another view of the file system has no path that says what it is, and is
//       refused.
//   (7) Over a socket of its own nothing of this is asked: who has the socket is meant, also where
//       the kernel can't name the process.

import Glibc
import KeychainCore
import KeychainCrypto
import KeychainWire

struct PeerHandshake: Sendable {
    /// What has to come next.
    enum Step: Hashable, Sendable {
        /// What the process is known by, which may take reading its files.
        case identity
        /// Bytes over the socket.
        case answer
    }

    let process: PinnedProcess
    let identification: Identification
    private(set) var step = Step.identity
    /// Over which the answer comes, and everything after it; until the question is sent, the one
    /// that the caller made.
    private(set) var socket: OwnedDescriptor
    private var identity: Identity?
    /// What is sent, and has to come back.
    private let question = Handshake.random().bytes
    private var answer: [UInt8] = []

    /// Begins it with the socket that the caller made. That one is of no use afterwards.
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

    /// Takes what the process was found to be; the first time it is asked the question then.
    /// - Returns: Who it is; nil where the answer has to come.
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
        // What follows is read without asking who sent it.
        guard Sockets.setPassingCredentials(false, socket) else { throw .unknownProcess }
        return Peer(pid: process.pid, uid: process.uid, identity: found)
    }

    /// Sends the nonce and the new socket over the one that the caller made.
    private mutating func ask() throws(PeerRefusal) {
        guard let (own, passed) = UnixSockets.pair() else { throw .tooMany(uid: process.uid) }
        Sockets.prepare(own.number)
        // Asked for before the nonce is sent, so that every sender that knows the nonce is named.
        guard Sockets.setPassingCredentials(true, own) else { throw .unknownProcess }
        guard UnixSockets.send(question, passing: passed, to: socket) else {
            throw .endedProcess(pid: process.pid)
        }
        socket = own
    }

    /// Takes the bytes that have come.
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

/// Its description names no more than process, user and path.
enum PeerRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kernel doesn't say who it is: it is gone, or in a container of its own.
    case unknownProcess
    case otherUser(uid: uid_t)
    case endedProcess(pid: pid_t)
    case unreadableExecutable(pid: pid_t, reason: String)
    case replacedExecutable(pid: pid_t, path: String)
    case changedExecutable(pid: pid_t, first: String, second: String)
    /// Another process than the one that connected answers.
    case otherSender(pid: pid_t, sender: pid_t)
    case wrongNonce(pid: pid_t)
    case timeLimit(pid: pid_t)
    /// What it runs can't be read in time.
    case slowFile(pid: pid_t)
    case tooMany(uid: uid_t)

    var description: String {
        switch self {
        case .unknownProcess:
            "the kernel doesn't say which process connected; it is gone, or in another "
                + "namespace of processes, as in a container. A container is given a socket of its "
                + "own, which `keychainctl service socket add` makes"
        case .otherUser(let uid):
            "the process is of another user (uid \(uid))"
        case .endedProcess(let pid):
            "process \(pid) ended"
        case .unreadableExecutable(let pid, let reason):
            "the executable of process \(pid) can't be seen: \(reason). So it is with one that "
                + "forbids tracing, and with a file that may be run and not be read. Let the file be "
                + "read, or give the program a socket of its own, which `keychainctl service socket "
                + "add` makes"
        case .replacedExecutable(let pid, let path):
            "process \(pid) runs a file that is no longer at \(quoted(path)); it was replaced or "
                + "deleted, or the process sees other files than this service. After an update "
                + "start it again; a container is given a socket of its own, which `keychainctl "
                + "service socket add` makes"
        case .changedExecutable(let pid, let first, let second):
            "process \(pid) connected as \(quoted(first)) and answered as \(quoted(second))"
        case .otherSender(let pid, let sender):
            "process \(pid) connected, and process \(sender) answered"
        case .wrongNonce(let pid):
            "process \(pid) didn't answer with what it was sent"
        case .timeLimit(let pid):
            "process \(pid) didn't answer in time"
        case .slowFile(let pid):
            "the file that process \(pid) runs can't be read in time: its file system doesn't "
                + "answer, or it is very large"
        case .tooMany(let uid):
            "there are too many connections of the user (uid \(uid))"
        }
    }
}

extension PeerRefusal {
    /// What refusals that are counted together have in common.
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
        }
    }

    /// Says it to the client, where its socket takes it at once.
    func tell(_ socket: OwnedDescriptor) {
        let text =
            "The keychain service refuses this program: \(self). `keychainctl status` says which "
            + "keychain is in use."
        let failure: KeychainFailure =
            switch self {
            case .tooMany, .timeLimit, .slowFile, .endedProcess: .busy(text)
            default: .notPermitted(text)
            }
        Sockets.send(ServiceMessage.frame(id: 0, failure), to: socket)
    }
}

// MARK: - Processes

struct PinnedProcess: Sendable {
    let pid: pid_t
    let uid: uid_t
    /// nil: it isn't asked which process it is.
    private let descriptor: OwnedDescriptor?

    /// What the kernel says of the process that connected a socket; its number may be 0, or that of
    /// another one later.
    init(unpinnedOf socket: OwnedDescriptor) throws(PeerRefusal) {
        guard let peer = UnixSockets.peer(of: socket) else { throw .unknownProcess }
        pid = peer.pid
        uid = peer.uid
        descriptor = nil
    }

    /// The process that connected a socket.
    init(of socket: OwnedDescriptor) throws(PeerRefusal) {
        guard let peer = UnixSockets.peer(of: socket), peer.pid > 0 else { throw .unknownProcess }
        guard
            let descriptor = Sockets.peerProcess(of: socket) ?? Processes.pin(peer.pid)
        else { throw .endedProcess(pid: peer.pid) }
        pid = peer.pid
        uid = peer.uid
        self.descriptor = descriptor
    }

    var isPinned: Bool { descriptor != nil }

    private var isRunning: Bool { descriptor.map { Processes.isRunning($0) } ?? false }

    /// What it runs now.
    func executable() throws(PeerRefusal) -> Executable {
        try reading { pid throws(PeerRefusal) in try Executable(of: pid) }
    }

    /// What is read under the number of the process while it runs, and so of no other one.
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

/// The program of a process, for as long as it takes to say what it is entitled to.
struct Executable: Sendable {
    /// Absolute, without symbolic links.
    let path: String
    let file: FileIdentity
    /// Names the file, whatever its path leads to later.
    private let descriptor: OwnedDescriptor

    /// Reads what a process runs now.
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

    /// The most bytes of which a digest is made: a sparse file of any size costs nothing to make.
    static let largestDigested: Int64 = 1 << 30

    var isTooLarge: Bool { file.size > Self.largestDigested }

    /// SHA-256 of the file that runs. nil: it can't be read, is too large, or changed meanwhile.
    func digest() -> [UInt8]? {
        guard !isTooLarge,
            let content = Files.open("/proc/self/fd/\(descriptor.number)", O_RDONLY),
            let digest = try? Fingerprint.sha256(ofFile: content.number),
            Files.status(of: content)?.identity.isUnwritten(since: file) == true
        else { return nil }
        return digest
    }
}
