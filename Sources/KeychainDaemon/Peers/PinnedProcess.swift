// PinnedProcess: the process that made a connection, told from one that gets its number later.
//   (1) While ``isRunning`` is true, the number is that of the process which was pinned.
//   (2) Where the kernel can't pin the process that connected (before 6.5), the one that has its
//       number now is pinned. It is taken for the other only once it has answered under that
//       number on the connection, and was still running after.

import Glibc

struct PinnedProcess: Sendable {
    let pid: pid_t
    let uid: uid_t
    private let descriptor: OwnedDescriptor

    /// The process that connected a socket.
    init(of socket: OwnedDescriptor) throws(PeerRefusal) {
        guard let peer = Sockets.peer(of: socket), peer.pid > 0 else { throw .unknownProcess }
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
