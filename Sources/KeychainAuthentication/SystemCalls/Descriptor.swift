// Descriptor: bytes to file descriptors, and waiting for them.

#if !canImport(Darwin)

import Glibc
import KeychainCrypto

package enum Descriptor {
    /// Writes all bytes. False when that failed; `errno` says why.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var offset = 0
        while offset < bytes.count {
            // SAFETY: the range offset..<count lies in the array.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    descriptor, buffer.baseAddress.map { unsafe $0 + offset },
                    buffer.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    package static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// How a wait ended.
    enum Wait {
        case readable
        case interrupted
        case timedOut
        case failed
    }

    /// Waits until a descriptor can be read, or its other side is closed, and no longer than so
    /// many milliseconds; -1: without end. An interruption goes before input.
    static func wait(
        for descriptor: Int32, until interruption: Interruption?, milliseconds: Int32 = -1
    ) -> Wait {
        // Negative descriptors are passed over by the system.
        var waiting = [
            pollfd(fd: interruption?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            // SAFETY: the entries are read and written within the call.
            let count = unsafe waiting.withUnsafeMutableBufferPointer {
                unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return .failed }
            if waiting[0].revents != 0 || interruption?.isInterrupted == true {
                return .interrupted
            }
            return count == 0 ? .timedOut : .readable
        }
    }

    /// Reads one byte. nil: the end, or a failure.
    static func nextByte(of descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            // SAFETY: one byte is written to the variable.
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    /// Two connected sockets that programs started later don't inherit; nil when there are no
    /// descriptors left.
    static func socketPair() -> (Int32, Int32)? {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // SAFETY: two numbers are written to the array.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
        let ends = (StandardStreams.moveAbove(pair[0]), StandardStreams.moveAbove(pair[1]))
        guard ends.0 >= 0, ends.1 >= 0 else {
            for end in [ends.0, ends.1] where end >= 0 { close(end) }
            return nil
        }
        return ends
    }
}

#endif
