// WakeSignal: wakes a thread that waits for a socket.

import Glibc
import KeychainCrypto

/// What one thread raises, once and for all, and another waits for.
final class WakeSignal: Sendable {
    /// Two connected sockets. When one is shut down, the other can be read.
    private let raised: UnixSocket
    private let waitedFor: UnixSocket

    /// - Returns: nil when there are no descriptors left.
    init?() {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // SAFETY: two numbers are written to the array.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
        raised = UnixSocket(descriptor: StandardStreams.moveAbove(pair[0]))
        waitedFor = UnixSocket(descriptor: StandardStreams.moveAbove(pair[1]))
        guard raised.descriptor >= 0, waitedFor.descriptor >= 0 else { return nil }
    }

    func raise() {
        shutdown(raised.descriptor, Int32(SHUT_RDWR))
    }

    /// What ended a wait.
    enum End {
        case raised
        /// The socket can be read, or its other side is gone.
        case readable
        case timedOut
    }

    /// Waits until it is raised, or until there is something to read; -1 waits without end.
    func wait(orFor socket: UnixSocket?, milliseconds: Int32) -> End {
        // A negative descriptor is passed over by the system.
        var waiting = [
            pollfd(fd: waitedFor.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            // SAFETY: the entries are read and written within the call.
            let count = unsafe waiting.withUnsafeMutableBufferPointer {
                unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 || waiting[0].revents != 0 { return .raised }
            return count == 0 ? .timedOut : .readable
        }
    }
}
