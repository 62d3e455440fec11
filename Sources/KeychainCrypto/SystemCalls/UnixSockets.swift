// UnixSockets: sockets of this machine: how they are made and named, and who is at the other end.

package import Glibc

package enum UnixSockets {
    /// The longest path of a socket, without the byte that ends it.
    package static let pathByteCount = 107

    /// `struct ucred` of sys/socket.h.
    package struct Credentials: Hashable, Sendable {
        package var pid: pid_t = 0
        package var uid: uid_t = 0
        package var gid: gid_t = 0

        package init() {}
    }

    /// A socket that programs started later don't inherit. nil: it failed, and `errno` says why.
    package static func make(
        _ kind: __socket_type = SOCK_STREAM, flags: __socket_type = SOCK_CLOEXEC
    ) -> OwnedDescriptor? {
        let type = Int32(kind.rawValue | flags.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = StandardStreams.moveAbove(socket(AF_UNIX, type, 0))
        return descriptor >= 0 ? OwnedDescriptor(descriptor) : nil
    }

    /// Two connected sockets that programs started later don't inherit; nil when there are no
    /// descriptors left.
    package static func pair() -> (OwnedDescriptor, OwnedDescriptor)? {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        // SAFETY: two numbers are written to the array.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
        let ends = pair.map { OwnedDescriptor(StandardStreams.moveAbove($0)) }
        guard ends.allSatisfy({ $0.number >= 0 }) else { return nil }
        return (ends[0], ends[1])
    }

    /// Calls `body` with the address of a path. nil: the path is too long, and `errno` says so.
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
        // SAFETY: the path fits with the zero byte after it, which is there from the start.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            // SAFETY: `sockaddr_un` is one of the structures that `sockaddr` stands for.
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// The corresponding C function is `connect`. False: it failed, and `errno` says why.
    package static func connect(_ socket: OwnedDescriptor, to path: String) -> Bool {
        // SAFETY: the address lives for the call.
        unsafe withAddress(path) { unsafe Glibc.connect(socket.number, $0, $1) } == 0
    }

    /// Who connected, or who listens. nil: the kernel doesn't say.
    package static func peer(of socket: OwnedDescriptor) -> Credentials? {
        var credentials = Credentials()
        var size = socklen_t(MemoryLayout<Credentials>.size)
        // SAFETY: three numbers of 32 bits, as `struct ucred` has them, written within the call.
        let code = unsafe getsockopt(
            socket.number, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
        return code == 0 && size == MemoryLayout<Credentials>.size ? credentials : nil
    }

    /// Sends some bytes. A peer that is gone raises no signal.
    /// - Returns: How many were sent; -1: it failed, and `errno` says why.
    package static func send(
        _ bytes: UnsafeRawBufferPointer, to socket: Int32, flags: Int = 0
    ) -> Int {
        // SAFETY: the bytes are valid for the call, and their number is given.
        unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(Int(MSG_NOSIGNAL) | flags))
    }

    /// Sends bytes that fit into an empty socket. False: they didn't go, or not all.
    package static func send(_ bytes: [UInt8], to socket: OwnedDescriptor) -> Bool {
        // SAFETY: the bytes are read within the call.
        unsafe bytes.withUnsafeBytes { unsafe send($0, to: socket.number) } == bytes.count
    }
}
