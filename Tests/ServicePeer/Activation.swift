// Activation: what a service manager does for a service that is started for its socket.

import Foundation
import Glibc

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
