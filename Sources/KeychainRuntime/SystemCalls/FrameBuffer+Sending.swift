// FrameBuffer+Sending: sends complete frames to a socket.

import KeychainCore

extension FrameBuffer {
    /// Sends all bytes.
    /// - Returns: `nil` if all bytes were sent, otherwise the reason that they weren't.
    func send(to socket: UnixSocket, until deadline: Deadline) -> UnixSocket.Transfer? {
        // SAFETY: the bytes are valid within the closure.
        unsafe withUnsafeBytes { unsafe socket.send(all: $0, until: deadline) }
    }
}

extension UnixSocket {
    /// Sends all bytes.
    /// - Returns: Whether all bytes were sent.
    func sends(_ bytes: [UInt8], until deadline: Deadline) -> Bool {
        // SAFETY: the bytes are valid within the closure.
        unsafe bytes.withUnsafeBytes { unsafe send(all: $0, until: deadline) } == nil
    }

    fileprivate func send(
        all bytes: UnsafeRawBufferPointer, until deadline: Deadline
    ) -> Transfer? {
        var offset = 0
        while offset < bytes.count {
            // SAFETY: the offset is below the number of the bytes.
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            switch unsafe send(rest, until: deadline) {
            case .moved(let count): offset += count
            case let end: return end
            }
        }
        return nil
    }
}
