// Descriptor: reads from, writes to and waits for file descriptors.
//   (1) Reads and writes are retried when a signal interrupts them.

import Glibc

package enum Descriptor {
    package static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Whether a descriptor was open when the program was started. If a user names a descriptor
    /// that wasn't open then, the program may have opened one with the same number since. Such a
    /// descriptor is recognized by its close-on-exec flag. An open standard descriptor always
    /// counts as inherited, even if it is a replacement that ``StandardStreams`` has opened.
    ///
    /// - Returns: Whether the descriptor was open. If not, `errno` is `EBADF`.
    package static func isInherited(_ descriptor: Int32) -> Bool {
        let flags = fcntl(descriptor, F_GETFD)
        if flags >= 0, flags & FD_CLOEXEC == 0 || descriptor <= STDERR_FILENO { return true }
        errno = EBADF
        return false
    }

    /// Prevents programs that are started from inheriting a descriptor.
    package static func setClosedOnExec(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Opens `/dev/null` under a closed number, so that no file gets this number. Programs that are
    /// started don't inherit it.
    ///
    /// - Returns: `false` if the system has no such number, or if no descriptors are left; `errno`
    ///   contains the reason.
    package static func reserve(_ descriptor: Int32) -> Bool {
        guard fcntl(descriptor, F_GETFD) == -1 else { return true }
        guard let null = Files.open("/dev/null", O_RDONLY) else { return false }
        // The system assigns the lowest free number, which may be the one to reserve.
        if null.number == descriptor { return null.handOn() == descriptor }
        let reserved = fcntl(null.number, F_DUPFD_CLOEXEC, descriptor)
        // If the number is taken now, another thread took it in the meantime.
        if reserved >= 0, reserved != descriptor { Glibc.close(reserved) }
        return reserved >= 0
    }

    /// Creates a pipe and returns its ends for reading and for writing. Programs that are started
    /// don't inherit them, except one that another thread starts during this call: Swift's module
    /// of the C library lacks `pipe2`, which sets the close-on-exec flag when it creates the ends.
    /// Returns `nil` if no descriptors are left.
    package static func pipe() -> (OwnedDescriptor, OwnedDescriptor)? {
        var ends: [Int32] = [-1, -1]
        // SAFETY: two numbers are written to the array.
        guard unsafe Glibc.pipe(&ends) == 0 else { return nil }
        let moved = ends.map { StandardStreams.moveAbove($0) }
        moved.forEach(setClosedOnExec)
        let owned = moved.map(OwnedDescriptor.init)
        return moved.allSatisfy { $0 >= 0 } ? (owned[0], owned[1]) : nil
    }

    // MARK: Bytes

    /// Writes all bytes. Returns `false` if that failed; `errno` contains the reason. If the
    /// descriptor is non-blocking and not ready, the call waits if `waits` is set, and fails
    /// otherwise.
    package static func write(
        _ bytes: [UInt8], to descriptor: Int32, waits: Bool = false
    ) -> Bool {
        // SAFETY: the bytes are read during the call.
        unsafe bytes.withUnsafeBytes { unsafe write(all: $0, to: descriptor, waits: waits) }
    }

    /// Writes all bytes. Returns `false` if that failed; `errno` contains the reason.
    static func write(
        all bytes: UnsafeRawBufferPointer, to descriptor: Int32, waits: Bool = false
    ) -> Bool {
        var offset = 0
        while offset < bytes.count {
            // SAFETY: the offset is below the number of bytes.
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN, waits {
                _ = ready(among: [descriptor], for: POLLOUT, milliseconds: -1)
                continue
            }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    /// Reads the available bytes, at most as many as fit.
    /// - Returns: 0 at the end; -1 if the read failed, and `errno` contains the reason.
    static func read(into target: UnsafeMutableRawBufferPointer, from descriptor: Int32) -> Int {
        while true {
            // SAFETY: the target is valid during the call, and its size is passed.
            let count = unsafe Glibc.read(descriptor, target.baseAddress, target.count)
            if count < 0, errno == EINTR { continue }
            return count
        }
    }

    /// Reads at most `limit` bytes. Returns an empty array at the end, and `nil` if the read
    /// failed; `errno` then contains the reason.
    package static func bytes(atMost limit: Int, of descriptor: Int32) -> [UInt8]? {
        // A large limit doesn't allocate a large buffer.
        var bytes = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        // SAFETY: the array is written within its bounds, during the call.
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(into: $0, from: descriptor) }
        return count < 0 ? nil : Array(bytes[..<count])
    }

    /// Reads one byte. Returns `nil` at the end or if the read failed.
    package static func nextByte(of descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        // SAFETY: one byte is written to the variable.
        let count = unsafe withUnsafeMutableBytes(of: &byte) {
            unsafe read(into: $0, from: descriptor)
        }
        return count == 1 ? byte : nil
    }

    // MARK: Waiting

    /// Waits until one of the descriptors is ready or its other end is closed. Negative descriptors
    /// are ignored.
    ///
    /// - Parameters:
    ///   - descriptors: The descriptors to wait for.
    ///   - events: `POLLIN` or `POLLOUT`.
    ///   - milliseconds: The timeout; -1 to wait indefinitely.
    /// - Returns: For each descriptor, in order, whether it is ready; `nil` if the wait failed, for
    ///   example because of a signal, and `errno` contains the reason.
    package static func ready(
        among descriptors: [Int32], for events: Int32 = POLLIN, milliseconds: Int32
    ) -> [Bool]? {
        var polls = descriptors.map { pollfd(fd: $0, events: Int16(events), revents: 0) }
        // SAFETY: exactly the stated number of entries is read and written during the call.
        let count = unsafe polls.withUnsafeMutableBufferPointer {
            unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds)
        }
        return count < 0 ? nil : polls.map { $0.revents != 0 }
    }

    /// The outcome of a wait.
    package enum Wait {
        case readable
        case interrupted
        case timedOut
        case failed
    }

    /// Waits until a descriptor is readable or its other end is closed, at most for the given
    /// number of milliseconds; -1 to wait indefinitely. Without a descriptor, waits only for the
    /// interruption. An interruption takes precedence over input.
    package static func wait(
        for descriptor: Int32?, until interruption: Interruption?, milliseconds: Int32 = -1
    ) -> Wait {
        let start = ContinuousClock.now
        var rest = milliseconds
        while true {
            let waiting = [interruption?.descriptor ?? -1, descriptor ?? -1]
            guard let ready = ready(among: waiting, milliseconds: rest) else {
                guard errno == EINTR else { return .failed }
                if milliseconds > 0 {
                    let waited = Int32(clamping: Int(start.duration(to: .now) / .milliseconds(1)))
                    rest = max(0, milliseconds - waited)
                }
                continue
            }
            if ready[0] || interruption?.isInterrupted == true { return .interrupted }
            return ready[1] ? .readable : .timedOut
        }
    }
}
