// Sockets: Unix sockets, and what the kernel reports about their peers.

import Glibc
import KeychainCore
import KeychainCrypto

enum Sockets {
    /// SO_PASSCRED and SO_PEERPIDFD of asm-generic/socket.h, and SCM_CREDENTIALS of linux/socket.h.
    /// glibc's headers lack the second before 2.38, and define the last only with _GNU_SOURCE,
    /// which Swift doesn't set.
    private static let passCredentials: Int32 = 16
    private static let peerDescriptor: Int32 = 77
    private static let credentialsMessage: Int32 = 2

    typealias Credentials = UnixSockets.Credentials

    // MARK: Creating and inspecting

    /// A non-blocking, close-on-exec socket. `nil` with `errno` set if it can't be created.
    static func make() -> OwnedDescriptor? { UnixSockets.make(flags: SOCK_NONBLOCK) }

    /// Binds a socket to a path, like `bind`. No program can connect before ``listen(_:)`` is
    /// called.
    static func bind(_ socket: OwnedDescriptor, to path: String) -> Bool {
        // SAFETY: the address lives for the call.
        unsafe UnixSockets.withAddress(path) { unsafe Glibc.bind(socket.number, $0, $1) } == 0
    }

    /// Starts listening, like `listen`.
    static func listen(_ socket: OwnedDescriptor) -> Bool {
        Glibc.listen(socket.number, 1024) == 0
    }

    /// Whether a program listens at a path. Also `true` if that can't be determined, or if the
    /// program's queue of callers is full.
    static func isAnswered(_ path: String) -> Bool {
        guard let socket = make() else { return true }
        return UnixSockets.connect(socket, to: path)
            || (errno != ECONNREFUSED && errno != ENOENT)
    }

    /// Whether a file descriptor is a listening Unix socket.
    static func isListening(_ descriptor: Int32) -> Bool {
        option(SO_ACCEPTCONN, of: descriptor) == 1 && option(SO_DOMAIN, of: descriptor) == AF_UNIX
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: value and size are written within the call.
        return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }

    /// Whether the peer has yet to receive data that was sent.
    static func isUntaken(_ socket: OwnedDescriptor) -> Bool {
        var count: Int32 = 0
        // SAFETY: SIOCOUTQ, which is TIOCOUTQ, writes one number within the call.
        return unsafe ioctl(socket.number, UInt(TIOCOUTQ), &count) == 0 && count > 0
    }

    // MARK: Accepting

    /// Accepts the next caller. `nil` with `errno` set if there is none now or accepting failed.
    static func accept(_ listener: Int32) -> OwnedDescriptor? {
        let descriptor = StandardStreams.moveAbove(Glibc.accept(listener, nil, nil))
        guard descriptor >= 0 else { return nil }
        // `accept` and `prepare` are two steps. Between them, no child process can inherit the
        // descriptor, since this process starts none.
        prepare(descriptor)
        return OwnedDescriptor(descriptor)
    }

    /// Makes a file descriptor non-blocking and close-on-exec.
    static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    // MARK: Peer credentials

    /// A process file descriptor of the process that connected. `nil` if that process has ended, no
    /// descriptors are left, or the kernel is older than 6.5.
    static func peerProcess(of socket: OwnedDescriptor) -> OwnedDescriptor? {
        option(peerDescriptor, of: socket.number).map { OwnedDescriptor($0) }
    }

    /// Sets whether the kernel attaches the sender's credentials to each message.
    static func setPassingCredentials(_ isPassing: Bool, _ socket: OwnedDescriptor) -> Bool {
        var value: Int32 = isPassing ? 1 : 0
        // SAFETY: the value is read within the call.
        return unsafe setsockopt(
            socket.number, SOL_SOCKET, passCredentials, &value,
            socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    /// The result of ``receive(atMost:from:)``.
    enum Received: Equatable {
        /// At least one byte, and the sender's credentials if the kernel attached them.
        case bytes([UInt8], Credentials?)
        /// No bytes are available now.
        case nothing
        /// The peer has closed the connection, or the connection failed.
        case ended
    }

    /// Receives bytes that a single process sent, with the credentials that the kernel attached.
    /// File descriptors that were sent along are never accepted.
    static func receive(atMost limit: Int, from socket: OwnedDescriptor) -> Received {
        var bytes = [UInt8](repeating: 0, count: limit)
        // There is room for the credentials only: the kernel drops everything else.
        let headerByteCount = MemoryLayout<cmsghdr>.size
        let controlByteCount = headerByteCount + MemoryLayout<Credentials>.size
        var control = [UInt64](repeating: 0, count: (controlByteCount + 7) / 8)
        var count = -1
        var controlCount = 0
        // SAFETY: the message points to the two arrays with their sizes, within these closures
        // only; the kernel writes no further.
        unsafe bytes.withUnsafeMutableBytes { target in
            unsafe control.withUnsafeMutableBytes { controlTarget in
                var part = unsafe iovec(iov_base: target.baseAddress, iov_len: target.count)
                unsafe withUnsafeMutablePointer(to: &part) { parts in
                    var message = unsafe msghdr()
                    unsafe message.msg_iov = parts
                    unsafe message.msg_iovlen = 1
                    unsafe message.msg_control = controlTarget.baseAddress
                    unsafe message.msg_controllen = controlByteCount
                    count = unsafe recvmsg(socket.number, &message, Int32(MSG_DONTWAIT))
                    controlCount = unsafe Int(message.msg_controllen)
                }
            }
        }
        guard count != 0 else { return .ended }
        guard count > 0 else {
            return errno == EAGAIN || errno == EINTR ? .nothing : .ended
        }
        var credentials: Credentials?
        if controlCount >= controlByteCount {
            // SAFETY: the array holds at least a header and the credentials, and is aligned for
            // both.
            unsafe control.withUnsafeBytes { control in
                let header = unsafe control.load(as: cmsghdr.self)
                if header.cmsg_level == SOL_SOCKET, header.cmsg_type == credentialsMessage {
                    credentials = unsafe control.load(
                        fromByteOffset: headerByteCount, as: Credentials.self)
                }
            }
        }
        return .bytes(Array(bytes[..<count]), credentials)
    }

    /// Sends as much of a frame as the socket accepts without blocking.
    static func send(_ frame: FrameBuffer, to socket: OwnedDescriptor) {
        // SAFETY: the bytes are read within the call.
        _ = unsafe frame.withUnsafeBytes {
            unsafe UnixSockets.send($0, to: socket.number, flags: Int(MSG_DONTWAIT))
        }
    }

    /// Sends a text to a datagram socket, such as that of a service manager. A path that begins
    /// with `@` is an abstract name.
    static func notify(_ path: String, _ text: String) -> Bool {
        guard let socket = UnixSockets.make(SOCK_DGRAM) else { return false }
        // An abstract name begins with a zero byte in place of the `@`, and isn't terminated.
        let isAbstract = path.hasPrefix("@")
        let name = isAbstract ? "\0" + path.dropFirst() : path
        return unsafe UnixSockets.withAddress(name) { address, size in
            let used = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
            let bytes = Array(text.utf8)
            // SAFETY: bytes and address live for the call.
            return unsafe bytes.withUnsafeBytes { buffer in
                unsafe sendto(
                    socket.number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL),
                    address, isAbstract ? used : size)
            } == bytes.count
        } ?? false
    }
}
