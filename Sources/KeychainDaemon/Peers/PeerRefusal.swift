// PeerRefusal: why a caller isn't spoken to.

import Glibc

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
            "process \(pid) runs a file that is no longer at \(path); it was replaced or deleted, "
                + "or the process sees other files than this service. Start it again"
        case .changedExecutable(let pid, let first, let second):
            "process \(pid) connected as \(first) and answered as \(second)"
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
