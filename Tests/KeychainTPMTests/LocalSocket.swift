// LocalSocket: Unix sockets for tests that connect to a simulated chip or intercept its traffic.

#if TPM

import Glibc

enum LocalSocket {
    static func connected(to path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        do {
            // SAFETY: `withAddress` passes an address and the size of that address.
            let code = try unsafe withAddress(path) { unsafe connect(descriptor, $0, $1) }
            guard code == 0 else { throw RawFailure(code: UInt32(errno)) }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    static func listening(at path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        do {
            // SAFETY: `withAddress` passes an address and the size of that address.
            let code = try unsafe withAddress(path) { unsafe bind(descriptor, $0, $1) }
            guard code == 0, listen(descriptor, 8) == 0 else {
                throw RawFailure(code: UInt32(errno))
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// The next connection, or `nil` if the socket was shut down or `accept` failed.
    static func accepted(by descriptor: Int32) -> Int32? {
        let accepted = accept(descriptor, nil, nil)
        return accepted >= 0 ? accepted : nil
    }

    static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        // SAFETY: the count is the number of bytes in the array.
        unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            == bytes.count
    }

    /// Receives at least one byte, or returns `nil` if the connection was closed or failed.
    static func receive(from descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        // SAFETY: the count is the size of the buffer.
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = UInt16(AF_UNIX)
        // SAFETY: only a path that fits with its terminating zero is copied. `body` gets the size
        // of the whole address.
        try unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            guard path.utf8.count < target.count else { throw RawFailure(code: .max) }
            unsafe target.copyBytes(from: path.utf8)
        }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

#endif
