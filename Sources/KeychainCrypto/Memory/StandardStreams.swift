// StandardStreams: descriptors 0 to 2, standard input, output and error.
//   (1) A program can be started with any of them closed. The next file that it opens gets the
//       number, and what the program prints, a secret perhaps, is written into that file.
//   (2) So the tools put something in place of a closed one before they open anything, and the
//       keychain's own files and sockets never keep such a number, in any program.

import Glibc

package enum StandardStreams {
    /// Occupies each descriptor that is closed, so that no file gets its number.
    ///
    /// What takes its place is open in the other direction: reading from a closed standard input,
    /// and writing to a closed standard output or error, still fail with `EBADF`.
    package static func occupyClosed() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
            // SAFETY: the path is a terminated copy for the duration of the call. The system gives
            // the lowest number that is free, which is this one: those below are open by now.
            _ = unsafe open("/dev/null", direction)
        }
    }

    /// Runs `body`, which has a library open files or sockets, while no number of a standard stream
    /// is free. What is closed is closed again afterwards.
    package static func withoutFreeNumbers<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let closed = (STDIN_FILENO...STDERR_FILENO).filter { fcntl($0, F_GETFD) == -1 }
        occupyClosed()
        defer { for descriptor in closed { close(descriptor) } }
        return try body()
    }

    /// Moves a new descriptor to a number above those of the standard streams.
    ///
    /// - Parameter descriptor: A descriptor that this process has just opened, or -1.
    /// - Returns: The descriptor to use from now on, which isn't inherited by programs that are
    ///   started; -1, with `errno`, where none is left, and `descriptor` is closed then.
    package static func moveAbove(_ descriptor: Int32) -> Int32 {
        guard (STDIN_FILENO...STDERR_FILENO).contains(descriptor) else { return descriptor }
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        let cause = errno
        close(descriptor)
        errno = cause
        return moved
    }
}
