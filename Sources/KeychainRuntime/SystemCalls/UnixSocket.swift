// UnixSocket: one connected socket, and every call into the system that is made for it.
//   (1) It is closed when the last reference is gone, and programs that are started don't inherit
//       it.
//   (2) No call waits beyond its deadline, and none raises SIGPIPE.

import Glibc
import KeychainCrypto

/// A stream to a process on this machine.
final class UnixSocket: Sendable {
    let descriptor: Int32

    /// Takes over a descriptor.
    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    // MARK: Connecting

    /// What came of an attempt to connect.
    enum Attempt {
        case connected(UnixSocket)
        /// No program takes connections.
        case refused
        /// There is nothing of that name.
        case missing
        /// This user may not.
        case denied
        case timedOut
        /// The path is longer than the system takes, 107 bytes.
        case tooLong
        /// `errno`.
        case failed(Int32)
    }

    static func connect(to path: String, until deadline: Deadline) -> Attempt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        // One byte stays zero and ends the name.
        guard !name.isEmpty, name.count < MemoryLayout.size(ofValue: address.sun_path),
            !name.contains(0)
        else { return .tooLong }
        // SAFETY: the name is shorter than the field.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = StandardStreams.moveAbove(Glibc.socket(AF_UNIX, type, 0))
        guard descriptor >= 0 else { return .failed(errno) }
        let socket = UnixSocket(descriptor: descriptor)
        while true {
            // Connecting waits while the other side's queue is full, as long as sending may.
            guard deadline.remainingMilliseconds > 0 else { return .timedOut }
            socket.setSendingTime(deadline)
            // SAFETY: the address is valid for the call, and its size is given.
            let code = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.connect(
                        descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if code == 0 { return .connected(socket) }
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

    /// The user who listens at the other side. nil: the system doesn't say.
    var peerUserID: UInt32? {
        // The process, the user and the group, as `struct ucred` has them.
        var credentials: [UInt32] = [0, 0, 0]
        let expected = socklen_t(credentials.count * MemoryLayout<UInt32>.size)
        var size = expected
        // SAFETY: the size given is that of the array.
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
        return code == 0 && size == expected ? credentials[1] : nil
    }

    // MARK: Bytes

    /// What came of a transfer.
    enum Transfer: Equatable {
        /// So many bytes, 1 and up.
        case moved(Int)
        /// The other side is gone.
        case closed
        case timedOut
        /// `errno`.
        case failed(Int32)
    }

    /// Sends some of the bytes, at least one.
    func send(_ bytes: UnsafeRawBufferPointer, until deadline: Deadline) -> Transfer {
        while true {
            // SAFETY: the bytes are valid for the call, and their number is given.
            let count = unsafe Glibc.send(
                descriptor, bytes.baseAddress, bytes.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if count > 0 { return .moved(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                if let end = wait(for: Int16(POLLOUT), until: deadline) { return end }
            case EPIPE, ECONNRESET, ENOTCONN: return .closed
            default: return .failed(errno)
            }
        }
    }

    /// Receives some bytes, as many as fit and are there, at least one.
    func receive(
        into target: UnsafeMutableRawBufferPointer, until deadline: Deadline
    ) -> Transfer {
        while true {
            if let end = wait(for: Int16(POLLIN), until: deadline) { return end }
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

    /// - Returns: nil when something can be done, or the other side is gone.
    private func wait(for events: Int16, until deadline: Deadline) -> Transfer? {
        while true {
            var waiting = pollfd(fd: descriptor, events: events, revents: 0)
            // SAFETY: one entry is read and written.
            let count = unsafe poll(&waiting, 1, deadline.remainingMilliseconds)
            if count > 0 { return nil }
            if count == 0 { return .timedOut }
            guard errno == EINTR else { return .failed(errno) }
        }
    }
}
