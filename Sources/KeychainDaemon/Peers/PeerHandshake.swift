// PeerHandshake: finding out who is at the other end of a new connection: the process that made it
// and the program file that this process runs.
//   (1) The executable is read before the nonce is sent, and again after it came back; it must be
//       the same, and the process that connected must be running still.
//   (2) The kernel says of every byte of the answer who sent it: only the process that connected
//       counts. So a program can't connect, leave the connection to a child and become another
//       program: that other program doesn't answer, and the child is not the one that connected. A
//       program that writes what it is given to a descriptor it inherited can be made to answer.
//   (3) Nothing blocks. The thread that drives the handshake waits for the descriptor, and for the
//       time.
//   (4) While `PinnedProcess.isRunning` is true, the number is that of the process which was
//       pinned, and not of one that got its number later. Where the kernel can't pin the process
//       that connected (before 6.5), the one that has its number now is pinned. It is taken for the
//       other only once it has answered under that number on the connection, and was still running
//       after.
//   (5) Path and file of an executable belong together: the file that the process runs is the one
//       that stands at the path, as this process sees it. A program that was deleted, replaced, or
//       that runs in another view of the file system has no path that says what it is, and is
//       refused.

import Glibc
import KeychainCore
import KeychainCrypto
import KeychainWire

struct PeerHandshake: Sendable {
    let socket: OwnedDescriptor
    let process: PinnedProcess
    private let executable: Executable
    /// What is sent, and has to come back.
    private let question: [UInt8]
    private var answer: [UInt8] = []

    /// Begins it, and sends the nonce.
    init(
        _ socket: OwnedDescriptor, accepting isAccepted: (uid_t) -> Bool
    ) throws(PeerRefusal) {
        self.socket = socket
        process = try PinnedProcess(of: socket)
        guard isAccepted(process.uid) else { throw .otherUser(uid: process.uid) }
        // Asked for before the nonce is sent, so that every sender that knows the nonce is named.
        guard Sockets.setPassingCredentials(true, socket) else { throw .unknownProcess }
        executable = try process.executable()
        question = Handshake.random().bytes
        guard UnixSockets.send(question, to: socket) else { throw .endedProcess(pid: process.pid) }
    }

    /// Takes what has come.
    /// - Returns: Who it is; nil where more has to come.
    mutating func proceed() throws(PeerRefusal) -> Peer? {
        while answer.count < question.count {
            switch Sockets.receive(atMost: question.count - answer.count, from: socket) {
            case .nothing: return nil
            case .ended: throw .endedProcess(pid: process.pid)
            case .bytes(let bytes, let sender):
                guard let sender, sender.pid == process.pid else {
                    throw .otherSender(pid: process.pid, sender: sender?.pid ?? 0)
                }
                answer += bytes
            }
        }
        guard answer == question else { throw .wrongNonce(pid: process.pid) }
        let now = try process.executable()
        guard now.isSame(as: executable) else {
            throw .changedExecutable(
                pid: process.pid, first: executable.path, second: now.path)
        }
        // What follows is read without asking who sent it.
        guard Sockets.setPassingCredentials(false, socket) else { throw .unknownProcess }
        return Peer(pid: process.pid, uid: process.uid, executable: now)
    }
}

struct Peer: Sendable {
    let pid: pid_t
    let uid: uid_t
    let executable: Executable
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
    case tooMany(uid: uid_t)

    var description: String {
        switch self {
        case .unknownProcess:
            "the kernel doesn't say which process connected; it is gone, or in another "
                + "namespace of processes, as in a container"
        case .otherUser(let uid):
            "the process is of another user (uid \(uid))"
        case .endedProcess(let pid):
            "process \(pid) ended"
        case .unreadableExecutable(let pid, let reason):
            "the executable of process \(pid) can't be seen: \(reason). A process that forbids "
                + "tracing is hidden from a service without CAP_SYS_PTRACE"
        case .replacedExecutable(let pid, let path):
            "process \(pid) runs a file that is no longer at \(quoted(path)); it was replaced or "
                + "deleted, or the process sees other files than this service. Start it again"
        case .changedExecutable(let pid, let first, let second):
            "process \(pid) connected as \(quoted(first)) and answered as \(quoted(second))"
        case .otherSender(let pid, let sender):
            "process \(pid) connected, and process \(sender) answered"
        case .wrongNonce(let pid):
            "process \(pid) didn't answer with what it was sent"
        case .timeLimit(let pid):
            "process \(pid) didn't answer in time"
        case .tooMany(let uid):
            "there are too many connections of the user (uid \(uid))"
        }
    }
}

// MARK: - Processes

struct PinnedProcess: Sendable {
    let pid: pid_t
    let uid: uid_t
    private let descriptor: OwnedDescriptor

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

    var isRunning: Bool { Processes.isRunning(descriptor) }

    /// What it runs now.
    func executable() throws(PeerRefusal) -> Executable {
        do throws(PeerRefusal) {
            let executable = try Executable(of: pid)
            guard isRunning else { throw PeerRefusal.endedProcess(pid: pid) }
            return executable
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

    /// SHA-256 of the file that runs. nil: it can't be read, or changed meanwhile.
    func digest() -> [UInt8]? {
        guard
            let content = Files.open("/proc/self/fd/\(descriptor.number)", O_RDONLY),
            let digest = try? Fingerprint.sha256(ofFile: content.number),
            Files.status(of: content)?.identity.isUnwritten(since: file) == true
        else { return nil }
        return digest
    }
}
