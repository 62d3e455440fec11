// Trick: a dishonest peer. One process opens a connection, and another process or program uses the
// connection.
// Activation: a service manager, which listens on a socket and starts a service with this socket.

import Foundation
import Glibc
import KeychainCrypto
import KeychainWire

struct Trick {
    let socket: String

    struct Failure: Error {}

    /// A connection that child processes and executed programs inherit.
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

    /// The service's challenge, and the socket that comes with it.
    func question(on descriptor: Int32) throws -> (bytes: [UInt8], socket: OwnedDescriptor) {
        guard Descriptor.ready(among: [descriptor], milliseconds: 60_000) == [true],
            let (bytes, given) = UnixSockets.receive(
                atMost: Handshake.byteCount, withDescriptorFrom: descriptor),
            let given
        else { throw Failure() }
        return (bytes, given)
    }

    /// Answers the challenge over the socket that came with the challenge, and keeps this socket
    /// open.
    func answer(on descriptor: Int32) throws {
        let (bytes, given) = try question(on: descriptor)
        guard Descriptor.write(bytes, to: given.number) else { throw Failure() }
        _ = given.handOn()
        acknowledge("answered")
    }

    /// Executes `program`, which copies its standard input to the connection. A child process
    /// passes the answer to the program and, once the program has ended, answers the challenge.
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
        // The program ends after it has written everything.
        while getppid() == writer { usleep(1000) }
        _ = Descriptor.write(bytes, to: given.number)
    }

    /// Executes `program` with the socket that came with the challenge as standard output. The
    /// program writes the answer to this socket.
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

    /// Starts a child process that answers the challenge. Then executes `program` in this process.
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

    /// Answers the challenge, and waits for the end of standard input.
    func answerAndStay() throws {
        try answer(on: try connected())
        while readLine() != nil {}
    }

    /// Answers the challenge and executes `program`.
    func answerAndBecome(_ program: String) throws {
        let descriptor = try connected()
        try answer(on: descriptor)
        try become(program)
    }

    /// Executes `program`. With the argument `wait` the program reads standard input to its end.
    /// With `copy` the program copies standard input to standard output.
    private func become(_ program: String, _ what: String = "wait") throws {
        _ = unsafe withArguments([program, what]) { arguments in
            // SAFETY: the arguments end with nil and live for the call.
            unsafe execv(program, arguments)
        }
        throw Failure()
    }
}

/// Calls `body` with the arguments of a program in the form that `execv` requires.
func withArguments(
    _ arguments: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
) -> Int32 {
    // SAFETY: the copies are not freed before the process ends or executes another program.
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

    /// Listens on the socket, and executes the program with the socket as descriptor 3.
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
