// Descriptor: bytes from and to file descriptors, and waiting for them.
//   (1) Reading and writing go on when a signal interrupted them.

import Glibc

package enum Descriptor {
    package static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Whether the program was started with a descriptor open. One that it has opened itself, which no
    /// program that it starts would get, may have the number that a caller means by mistake.
    ///
    /// - Returns: Whether it was. If not, `errno` says that it is closed.
    package static func isInherited(_ descriptor: Int32) -> Bool {
        let flags = fcntl(descriptor, F_GETFD)
        if flags >= 0, flags & FD_CLOEXEC == 0 || descriptor <= STDERR_FILENO { return true }
        errno = EBADF
        return false
    }

    /// Keeps a descriptor from programs that are started.
    package static func setClosedOnExec(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Opens a closed number on nothing, so that no file gets it. Programs that are started don't
    /// have it.
    ///
    /// - Returns: False where the system has no such number; `errno` says why.
    package static func reserve(_ descriptor: Int32) -> Bool {
        guard fcntl(descriptor, F_GETFD) == -1 else { return true }
        guard let null = Files.open("/dev/null", O_RDONLY) else { return false }
        let reserved = fcntl(null.number, F_DUPFD_CLOEXEC, descriptor)
        // Only another thread could have taken the number meanwhile.
        if reserved >= 0, reserved != descriptor { Glibc.close(reserved) }
        return reserved >= 0
    }

    /// Two ends of a pipe, for reading and for writing, which programs that are started don't have.
    /// nil: there are no descriptors left.
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

    /// Writes all bytes. False when that failed; `errno` says why.
    /// One that was made not to block is waited for with `waits`; without, that is a failure.
    package static func write(
        _ bytes: [UInt8], to descriptor: Int32, waits: Bool = false
    ) -> Bool {
        // SAFETY: the bytes are read within the call.
        unsafe bytes.withUnsafeBytes { unsafe write(all: $0, to: descriptor, waits: waits) }
    }

    /// Writes all bytes. False when that failed; `errno` says why.
    static func write(
        all bytes: UnsafeRawBufferPointer, to descriptor: Int32, waits: Bool = false
    ) -> Bool {
        var offset = 0
        while offset < bytes.count {
            // SAFETY: the offset is below the number of the bytes.
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

    /// Reads some bytes, as many as fit and are there.
    /// - Returns: 0 at the end; -1 when it failed, and `errno` says why.
    static func read(into target: UnsafeMutableRawBufferPointer, from descriptor: Int32) -> Int {
        while true {
            // SAFETY: the target is valid for the call, and its size is given.
            let count = unsafe Glibc.read(descriptor, target.baseAddress, target.count)
            if count < 0, errno == EINTR { continue }
            return count
        }
    }

    /// Reads so many bytes, or fewer. Empty: the end. nil: it failed, and `errno` says why.
    package static func bytes(atMost limit: Int, of descriptor: Int32) -> [UInt8]? {
        // The system needn't have room for all that is asked for.
        var bytes = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        // SAFETY: the array is written within its bounds, within the call.
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(into: $0, from: descriptor) }
        return count < 0 ? nil : Array(bytes[..<count])
    }

    /// Reads one byte. nil: the end, or a failure.
    package static func nextByte(of descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        // SAFETY: one byte is written to the variable.
        let count = unsafe withUnsafeMutableBytes(of: &byte) {
            unsafe read(into: $0, from: descriptor)
        }
        return count == 1 ? byte : nil
    }

    // MARK: Waiting

    /// Waits until one of some descriptors is ready, or its other side is gone. Negative ones are
    /// passed over.
    ///
    /// - Parameters:
    ///   - descriptors: What to wait for.
    ///   - events: `POLLIN` or `POLLOUT`.
    ///   - milliseconds: How long at the most; -1: without end.
    /// - Returns: Whether each is ready, in their order. nil: it failed, as when a signal came, and
    ///   `errno` says why.
    package static func ready(
        among descriptors: [Int32], for events: Int32 = POLLIN, milliseconds: Int32
    ) -> [Bool]? {
        var polls = descriptors.map { pollfd(fd: $0, events: Int16(events), revents: 0) }
        // SAFETY: as many entries as are said are read and written within the call.
        let count = unsafe polls.withUnsafeMutableBufferPointer {
            unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds)
        }
        return count < 0 ? nil : polls.map { $0.revents != 0 }
    }

    /// How a wait ended.
    package enum Wait {
        case readable
        case interrupted
        case timedOut
        case failed
    }

    /// Waits until a descriptor can be read, or its other side is closed, and no longer than so
    /// many milliseconds; -1: without end. An interruption goes before input.
    package static func wait(
        for descriptor: Int32?, until interruption: Interruption?, milliseconds: Int32 = -1
    ) -> Wait {
        while true {
            let waiting = [interruption?.descriptor ?? -1, descriptor ?? -1]
            guard let ready = ready(among: waiting, milliseconds: milliseconds) else {
                if errno == EINTR { continue }
                return .failed
            }
            if ready[0] || interruption?.isInterrupted == true { return .interrupted }
            return ready[1] ? .readable : .timedOut
        }
    }
}
