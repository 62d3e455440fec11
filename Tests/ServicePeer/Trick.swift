// Trick: connections whose ends are in other hands than those that made them: of a dishonest peer,
// and of a service manager, which starts a service for its socket.

import Foundation
import Glibc
import KeychainCrypto
import KeychainWire

struct Trick {
    let socket: String

    struct Failure: Error {}

    /// A connection that is inherited by whatever this process starts or becomes.
    func connected() throws -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // SAFETY: the test's path is shorter than the field.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: Array(socket.utf8))
        }
        // SAFETY: the address lives for the call.
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw Failure() }
        acknowledge("connected")
        return descriptor
    }

    /// What the service sends first, and the socket that comes with it.
    func question(on descriptor: Int32) throws -> (bytes: [UInt8], socket: OwnedDescriptor) {
        guard Descriptor.ready(among: [descriptor], milliseconds: 60_000) == [true],
            let (bytes, given) = UnixSockets.receive(
                atMost: Handshake.byteCount, withDescriptorFrom: descriptor),
            let given
        else { throw Failure() }
        return (bytes, given)
    }

    /// Sends back what the service sends, over the socket that came with it, and keeps that open.
    func answer(on descriptor: Int32) throws {
        let (bytes, given) = try question(on: descriptor)
        guard Descriptor.write(bytes, to: given.number) else { throw Failure() }
        _ = given.handOn()
        acknowledge("answered")
    }

    /// This process becomes `program`, which writes all that it reads to the connection. A child
    /// gives it the answer, and where that did nothing answers itself.
    func becomeWriter(_ program: String) throws {
        let descriptor = try connected()
        var pipe: [Int32] = [-1, -1]
        // SAFETY: two numbers are written within the call.
        guard unsafe Glibc.pipe(&pipe) == 0 else { throw Failure() }
        try startChild("dictate", "\(descriptor)", "\(pipe[1])", "\(getpid())")
        close(pipe[1])
        guard dup2(pipe[0], STDIN_FILENO) >= 0, dup2(descriptor, STDOUT_FILENO) >= 0 else {
            throw Failure()
        }
        try become(program, "copy")
    }

    /// The child of ``becomeWriter(_:)``.
    func dictate(to pipe: Int32, of writer: Int32, on descriptor: Int32) throws {
        let (bytes, given) = try question(on: descriptor)
        _ = Descriptor.write(bytes, to: pipe)
        close(pipe)
        // It ends once it has written everything.
        while getppid() == writer { usleep(1000) }
        _ = Descriptor.write(bytes, to: given.number)
    }

    /// This process makes the socket that came its standard output, and becomes `program`, which
    /// writes the answer to it.
    func lend(to program: String) throws {
        let (bytes, given) = try question(on: try connected())
        var pipe: [Int32] = [-1, -1]
        // SAFETY: two numbers are written within the call.
        guard unsafe Glibc.pipe(&pipe) == 0, Descriptor.write(bytes, to: pipe[1]) else {
            throw Failure()
        }
        close(pipe[1])
        guard dup2(pipe[0], STDIN_FILENO) >= 0, dup2(given.number, STDOUT_FILENO) >= 0 else {
            throw Failure()
        }
        try become(program, "copy")
    }

    /// The connection goes to a child, which answers on it; this process becomes `program`.
    func leaveToChild(becoming program: String) throws {
        try startChild("answer", "\(try connected())")
        try become(program)
    }

    private func startChild(_ arguments: String...) throws {
        let path = CommandLine.arguments[0]
        var child: pid_t = 0
        let code = unsafe withArguments([path] + arguments) { arguments in
            // SAFETY: the arguments end with nil and live for the call.
            unsafe posix_spawn(&child, path, nil, nil, arguments, nil)
        }
        guard code == 0 else { throw Failure() }
    }

    /// This process answers, and goes on.
    func answerAndStay() throws {
        try answer(on: try connected())
        while readLine() != nil {}
    }

    /// This process answers, and becomes `program`.
    func answerAndBecome(_ program: String) throws {
        let descriptor = try connected()
        try answer(on: descriptor)
        try become(program)
    }

    /// With `wait` it reads standard input to its end, with `copy` it writes it to standard output.
    private func become(_ program: String, _ what: String = "wait") throws {
        _ = unsafe withArguments([program, what]) { arguments in
            // SAFETY: as above.
            unsafe execv(program, arguments)
        }
        throw Failure()
    }
}

/// The arguments of a program as the system takes them.
func withArguments(
    _ arguments: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
) -> Int32 {
    // SAFETY: the copies are not freed before the process ends or becomes another one.
    var copies = unsafe arguments.map { unsafe strdup($0) } + [nil]
    return unsafe copies.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return -1 }
        return unsafe body(base)
    }
}

// MARK: - A service manager

struct Activation {
    let socket: String

    struct Failure: Error {}

    /// Listens at the socket, and becomes the program with the socket as its descriptor 3.
    func become(_ program: String, _ more: [String]) throws {
        let listener = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // SAFETY: the test's path is shorter than the field.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: Array(socket.utf8))
        }
        // SAFETY: the address lives for the call.
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0, listen(listener, 16) == 0, listener == 3 || dup2(listener, 3) == 3 else {
            throw Failure()
        }
        // SAFETY: the texts are copied within the calls; there is no other thread.
        unsafe _ = setenv("LISTEN_PID", "\(getpid())", 1)
        unsafe _ = setenv("LISTEN_FDS", "1", 1)
        _ = unsafe withArguments([program] + more) { arguments in
            // SAFETY: the arguments end with nil and live for the call.
            unsafe execv(program, arguments)
        }
        throw Failure()
    }
}
