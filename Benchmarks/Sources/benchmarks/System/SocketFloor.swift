// SocketFloor: the cost of a message and its answer between two threads over a socket, without any
// other work.

import Foundation

enum SocketFloor {
    /// About the size of a request for one item, and of its answer.
    private static let byteCount = 256

    /// - Returns: The mean time of a round trip, in nanoseconds.
    static func roundTrip(_ count: Int) throws -> Double {
        var ends: [Int32] = [0, 0]
        // SAFETY: the call fills the two elements.
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw FloorFailure(description: "No socket pair can be created.")
        }
        let (near, far) = (ends[0], ends[1])
        Thread.detachNewThread {
            var message = [UInt8](repeating: 0, count: byteCount)
            while pass(&message, from: far, to: far) {}
            close(far)
        }
        defer { close(near) }
        var message = [UInt8](repeating: 1, count: byteCount)
        let start = Instant.now
        for _ in 0..<count {
            guard send(message, to: near), receive(&message, from: near) else {
                throw FloorFailure(description: "The socket ended.")
            }
        }
        return Instant.now.nanoseconds(since: start) / Double(count)
    }

    private static func pass(_ message: inout [UInt8], from: Int32, to: Int32) -> Bool {
        receive(&message, from: from) && send(message, to: to)
    }

    private static func send(_ message: [UInt8], to socket: Int32) -> Bool {
        // SAFETY: the array lives for the call.
        unsafe message.withUnsafeBytes { bytes in
            unsafe write(socket, bytes.baseAddress, bytes.count) == bytes.count
        }
    }

    private static func receive(_ message: inout [UInt8], from socket: Int32) -> Bool {
        var count = 0
        while count < message.count {
            // SAFETY: the bytes that are read fit after the first `count` bytes of the array.
            let more = unsafe message.withUnsafeMutableBytes { bytes in
                unsafe read(
                    socket, bytes.baseAddress.map { unsafe $0 + count }, bytes.count - count)
            }
            guard more > 0 else { return false }
            count += more
        }
        return true
    }
}
