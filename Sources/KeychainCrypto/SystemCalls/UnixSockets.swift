// UnixSockets: creates, addresses and connects Unix sockets, sends bytes over them, and reads peer
// credentials.

package import Glibc

package enum UnixSockets {
    /// The maximum length of a socket's path in bytes, without the terminating zero byte.
    package static let pathByteCount = 107

    /// `struct ucred` of sys/socket.h.
    package struct Credentials: Hashable, Sendable {
        package var pid: pid_t = 0
        package var uid: uid_t = 0
        package var gid: gid_t = 0

        package init() {}
    }

    /// Creates a socket that programs started later don't inherit. Returns `nil` if that failed;
    /// `errno` contains the reason.
    package static func make(
        _ kind: __socket_type = SOCK_STREAM, flags: __socket_type = SOCK_CLOEXEC
    ) -> OwnedDescriptor? {
        let type = Int32(kind.rawValue | flags.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = StandardStreams.moveAbove(socket(AF_UNIX, type, 0))
        return descriptor >= 0 ? OwnedDescriptor(descriptor) : nil
    }

    /// Creates two connected sockets that programs started later don't inherit. Returns `nil` if no
    /// descriptors are left.
    package static func pair() -> (OwnedDescriptor, OwnedDescriptor)? {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        // SAFETY: two numbers are written to the array.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
        let ends = pair.map { OwnedDescriptor(StandardStreams.moveAbove($0)) }
        guard ends.allSatisfy({ $0.number >= 0 }) else { return nil }
        return (ends[0], ends[1])
    }

    /// Calls `body` with the address of a path. Returns `nil` if the path is too long, with `errno`
    /// set to `ENAMETOOLONG`.
    package static func withAddress<Result>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count <= pathByteCount else {
            errno = ENAMETOOLONG
            return nil
        }
        // SAFETY: the path and a zero byte after it fit. The zero byte is there from the start.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            // SAFETY: `sockaddr_un` is one of the structures that `sockaddr` stands for.
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// The corresponding C function is `connect`. Returns `false` if it failed; `errno` contains
    /// the reason.
    package static func connect(_ socket: OwnedDescriptor, to path: String) -> Bool {
        // SAFETY: the address is valid during the call.
        unsafe withAddress(path) { unsafe Glibc.connect(socket.number, $0, $1) } == 0
    }

    /// The credentials of the process that connected or that listens; `nil` if the kernel doesn't
    /// report them.
    package static func peer(of socket: OwnedDescriptor) -> Credentials? {
        var credentials = Credentials()
        var size = socklen_t(MemoryLayout<Credentials>.size)
        // SAFETY: three 32-bit numbers, as in `struct ucred`, are written during the call.
        let code = unsafe getsockopt(
            socket.number, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
        return code == 0 && size == MemoryLayout<Credentials>.size ? credentials : nil
    }

    /// Sends bytes. No signal is raised if the peer has closed the connection.
    /// - Returns: The number of bytes that were sent; -1 if sending failed, and `errno` contains
    ///   the reason.
    package static func send(
        _ bytes: UnsafeRawBufferPointer, to socket: Int32, flags: Int = 0
    ) -> Int {
        // SAFETY: the bytes are valid during the call, and their number is passed.
        unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(Int(MSG_NOSIGNAL) | flags))
    }

    /// Sends bytes, which must fit into an empty socket buffer. Returns `false` if not all were
    /// sent.
    package static func send(_ bytes: [UInt8], to socket: OwnedDescriptor) -> Bool {
        // SAFETY: the bytes are read during the call.
        unsafe bytes.withUnsafeBytes { unsafe send($0, to: socket.number) } == bytes.count
    }
}
