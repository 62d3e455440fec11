// PeerHandshake: finding out who is at the other end of a new connection.
//   (1) The executable is read before the nonce is sent, and again after it came back; it must be
//       the same, and the process that connected must be running still.
//   (2) The kernel says of every byte of the answer who sent it: only the process that connected
//       counts. So a program can't connect, leave the connection to a child and become another
//       program: that other program doesn't answer, and the child is not the one that connected.
//       A program that writes what it is given to a descriptor it inherited can be made to answer.
//   (3) Nothing blocks. The thread that drives the handshake waits for the descriptor, and for the
//       time.

import Glibc
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
        guard Sockets.send(question, to: socket) else { throw .endedProcess(pid: process.pid) }
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
