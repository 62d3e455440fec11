// Trick: connections whose ends are in other hands than those that made them: of a dishonest peer,
// and of a service manager, which starts a service for its socket.

import Foundation
import Glibc
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

    /// Sends back what the service sends, and waits for the end.
    func answer(on descriptor: Int32) throws {
        let end = FileHandle(fileDescriptor: descriptor)
        var question = Data()
        while question.count < Handshake.byteCount {
            guard let more = try end.read(upToCount: Handshake.byteCount - question.count),
                !more.isEmpty
            else { throw Failure() }
            question += more
        }
        try end.write(contentsOf: question)
        acknowledge("answered")
    }

    /// The connection goes to a child, which answers on it; this process becomes `program`.
    func leaveToChild(becoming program: String) throws {
        let descriptor = try connected()
        let path = CommandLine.arguments[0]
        var child: pid_t = 0
        let code = unsafe withArguments([path, "answer", "\(descriptor)"]) { arguments in
            // SAFETY: the arguments end with nil and live for the call.
            unsafe posix_spawn(&child, path, nil, nil, arguments, nil)
        }
        guard code == 0 else { throw Failure() }
        try become(program)
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

    private func become(_ program: String) throws {
        // It reads standard input to its end, as the test wants it.
        _ = unsafe withArguments([program, "wait"]) { arguments in
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
