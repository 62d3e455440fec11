// UnixSocket: a connected socket, and all system calls on it.
//   (1) The socket is closed when the last reference to it is released. Child programs don't
//       inherit it.
//   (2) No call waits beyond its deadline or raises SIGPIPE.

import Glibc
import KeychainCrypto

/// A stream connection to a process on this machine.
final class UnixSocket: Sendable {
    private let owned: OwnedDescriptor

    var descriptor: Int32 { owned.number }

    private init(_ owned: OwnedDescriptor) {
        self.owned = owned
    }

    // MARK: Connecting

    /// The outcome of an attempt to connect.
    enum Attempt {
        case connected(UnixSocket)
        /// No program accepts connections.
        case refused
        /// There is no file at the path.
        case missing
        /// This user may not connect.
        case denied
        case timedOut
        /// The path is empty, contains a NUL, or is longer than 107 bytes, the limit of the system.
        case tooLong
        /// `errno`.
        case failed(Int32)
    }

    static func connect(to path: String, until deadline: Deadline) -> Attempt {
        guard !path.isEmpty, path.utf8.count <= UnixSockets.pathByteCount, !path.utf8.contains(0)
        else { return .tooLong }
        guard let owned = UnixSockets.make() else { return .failed(errno) }
        let socket = UnixSocket(owned)
        while true {
            // While the service's queue is full, connecting blocks for as long as the send timeout.
            guard deadline.remainingMilliseconds > 0 else { return .timedOut }
            socket.setSendingTime(deadline)
            if UnixSockets.connect(owned, to: path) { return .connected(socket) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .timedOut
            case ECONNREFUSED: return .refused
            case ENOENT, ENOTDIR: return .missing
            case EACCES, EPERM: return .denied
            default: return .failed(errno)
            }
        }
    }

    private func setSendingTime(_ deadline: Deadline) {
        let (seconds, microseconds) = deadline.remainingTime
        var time = timeval(tv_sec: seconds, tv_usec: microseconds)
        // SAFETY: the size given is that of the value.
        unsafe _ = setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// The user whose process listens at the socket. `nil` if the system doesn't report it.
    var peerUserID: UInt32? { UnixSockets.peer(of: owned)?.uid }

    // MARK: Bytes

    /// The outcome of a transfer.
    enum Transfer: Equatable {
        /// The number of bytes transferred, at least 1.
        case moved(Int)
        /// The peer has closed the connection.
        case closed
        case timedOut
        /// `errno`.
        case failed(Int32)
    }

    /// Whether there are bytes to receive, or the peer has closed the connection.
    var isReadable: Bool {
        Descriptor.ready(among: [descriptor], for: POLLIN, milliseconds: 0)?[0] ?? true
    }

    /// Sends at least one of the bytes.
    func send(_ bytes: UnsafeRawBufferPointer, until deadline: Deadline) -> Transfer {
        while true {
            // SAFETY: the bytes are valid for the call.
            let count = unsafe UnixSockets.send(bytes, to: descriptor, flags: Int(MSG_DONTWAIT))
            if count > 0 { return .moved(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                if let end = wait(for: POLLOUT, until: deadline) { return end }
            case EPIPE, ECONNRESET, ENOTCONN: return .closed
            default: return .failed(errno)
            }
        }
    }

    /// Receives at least one byte, and as many as are available and fit.
    func receive(
        into target: UnsafeMutableRawBufferPointer, until deadline: Deadline
    ) -> Transfer {
        while true {
            if let end = wait(for: POLLIN, until: deadline) { return end }
            // SAFETY: the target is valid for the call, and its size is given.
            let count = unsafe recv(
                descriptor, target.baseAddress, target.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .moved(count) }
            if count == 0 { return .closed }
            switch errno {
            case EINTR, EAGAIN: continue
            case ECONNRESET, ENOTCONN: return .closed
            default: return .failed(errno)
            }
        }
    }

    // MARK: The handshake

    /// The first data from the peer.
    enum Beginning {
        /// The requested bytes, and the socket that came with them.
        case greeting([UInt8], UnixSocket)
        /// Other data, or the end of the connection. Either is still to be received.
        case other
        case ended(Transfer)
    }

    /// Receives `count` bytes that begin with `mark` and arrive in one piece, together with another
    /// socket.
    func beginning(
        _ count: Int, markedWith mark: [UInt8], until deadline: Deadline
    ) -> Beginning {
        if let end = wait(for: POLLIN, until: deadline) { return .ended(end) }
        var first = [UInt8](repeating: 0, count: mark.count)
        // SAFETY: the array is written within its bounds, within the call.
        let peeked = unsafe first.withUnsafeMutableBytes {
            unsafe recv(
                descriptor, $0.baseAddress, $0.count,
                Int32(MSG_DONTWAIT) | Int32(MSG_PEEK))
        }
        guard peeked == mark.count, first == mark else { return .other }
        guard
            let (bytes, passed) = UnixSockets.receive(
                atMost: count, withDescriptorFrom: descriptor)
        else { return .ended(.failed(errno)) }
        // If this process can't open more file descriptors, the system drops the passed one.
        guard bytes.count == count, let passed else { return .ended(.failed(EMFILE)) }
        return .greeting(bytes, UnixSocket(passed))
    }

    /// - Returns: `nil` if the socket is ready or the peer has closed the connection; otherwise
    ///   `timedOut` or `failed`.
    private func wait(for events: Int32, until deadline: Deadline) -> Transfer? {
        while true {
            let milliseconds = deadline.remainingMilliseconds
            if let ready = Descriptor.ready(
                among: [descriptor], for: events, milliseconds: milliseconds)
            {
                return ready[0] ? nil : .timedOut
            }
            guard errno == EINTR else { return .failed(errno) }
        }
    }
}
