// ProcessEnvironment: the environment variables, arguments and standard streams of this process.
//   (1) All other code of this package gets the values of environment variables from here. Only
//       `ProgramStart` also reads the environment itself, to pass it on to the program that it
//       starts.
//   (2) A program with more rights than its caller (set-user-ID, set-group-ID, file capabilities)
//       ignores the values of all variables. Otherwise the caller could make it open another user's
//       keychain or connect to another service, with rights that the caller doesn't have.
//   (3) Swift replaces bytes that are not UTF-8 with U+FFFD, so that two different paths would
//       become the same. A value that contains such bytes is never used to choose a keychain.
//   (4) If an argument is not UTF-8, the tools end with an error before they evaluate any argument.
//       Otherwise, two different names would become the same, as in (3). The arguments that
//       `run` passes to another program are passed unchanged, byte for byte.
//   (5) A program can be started with descriptors 0 to 2 (standard input, output and error) closed.
//       The next file that it opens then gets such a number, and the program's output, which can
//       include a secret, would be written to that file. The tools therefore open a replacement for
//       each closed descriptor before they open anything else. In any program, the keychain's files
//       and sockets end up with numbers above 2.

// `environ` is a C variable. This package changes it, and the environment variables, only while the
// process has one thread.
@unsafe @preconcurrency import Glibc

package enum ProcessEnvironment {
    /// The environment variables; empty if they must be ignored, see (2).
    ///
    /// Foundation returns the same variables, but would take a fifth of the running time of
    /// `keychainctl get`.
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        // SAFETY: glibc's array of null-terminated strings ends with `nil`.
        if hasRightsOfOthers { return variables }
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            if let (name, value) = unsafe variable(entry), variables[name] == nil {
                variables[name] = value
            }
            unsafe next += 1
        }
        return variables
    }

    /// Whether the environment contains a variable, with any value. Unlike ``variables``, this
    /// function doesn't ignore the environment of a program with more rights than its caller.
    package static func isSet(_ name: String) -> Bool {
        // SAFETY: the name is a null-terminated copy for the call, and the value is not read.
        unsafe getenv(name) != nil
    }

    /// Reads a variable and removes it from the environment, so that no child process uses it. Call
    /// this function only while the process has one thread.
    package static func take(_ name: String) -> String? {
        let value = variables[name]
        // SAFETY: the name is a null-terminated copy for the call, and no other code reads
        // variables at the same time.
        _ = unsafe unsetenv(name)
        return value
    }

    /// Splits `name=value`. A value that is not UTF-8 is returned as U+FFFD, which is not an
    /// absolute path. Returns `nil` if there is no `=` or if the name is not UTF-8.
    static func variable(_ entry: UnsafePointer<CChar>) -> (name: String, value: String)? {
        // SAFETY: the string is null-terminated, and `=` lies within it.
        guard let equals = unsafe strchr(entry, Int32(UInt8(ascii: "="))) else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(
            start: entry, count: equals - UnsafeMutablePointer(mutating: entry))
        guard let name = unsafe String(validating: bytes, as: UTF8.self) else { return nil }
        return (name, unsafe String(validatingCString: equals + 1) ?? "\u{FFFD}")
    }

    // MARK: Privileges

    /// Whether this program has rights that its caller doesn't have.
    package static var hasRightsOfOthers: Bool {
        isSecureExecution || getuid() != geteuid() || getgid() != getegid()
    }

    /// AT_SECURE of linux/auxvec.h, which the kernel sets when it starts the program. It doesn't
    /// change when the program drops its rights.
    private static let isSecureExecution = auxiliaryValue(23) != 0

    private typealias Getauxval = @convention(c) (CUnsignedLong) -> CUnsignedLong

    /// The C function `getauxval`, which is missing from Swift's Glibc module.
    private static func auxiliaryValue(_ type: CUnsignedLong) -> CUnsignedLong {
        // SAFETY: the symbol is glibc's `unsigned long getauxval(unsigned long)`.
        guard let symbol = unsafe dlsym(nil, "getauxval") else { return 0 }
        return unsafe unsafeBitCast(symbol, to: Getauxval.self)(type)
    }

    // MARK: The user

    /// The home folder, from `HOME` or the user database; `nil` if neither contains an absolute
    /// path.
    package static func home(_ variables: [String: String]) -> String? {
        if let home = variables["HOME"], home.hasPrefix("/") { return home }
        return homeInUserDatabase
    }

    private static var homeInUserDatabase: String? {
        // SAFETY: the strings of the entry are in the array, whose size is passed. They are copied
        // before the array is released.
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var texts = [CChar](repeating: 0, count: 1 << 14)
        return unsafe texts.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress,
                unsafe getpwuid_r(geteuid(), &entry, base, buffer.count, &found) == 0,
                unsafe found != nil, let home = unsafe entry.pw_dir
            else { return nil }
            let text = unsafe String(cString: home)
            return text.hasPrefix("/") ? text : nil
        }
    }
}

// MARK: - Arguments

package enum ProcessArguments {
    /// The position of the first argument that is not valid UTF-8, counted as in a shell, where
    /// `$1` is 1. Arguments after the program's name in `run … --` belong to that program and are
    /// not checked. `nil` if all arguments are valid.
    package static var firstInvalidPosition: Int? {
        let arguments = CommandLine.arguments
        let separator = arguments.dropFirst().first == "run" ? arguments.firstIndex(of: "--") : nil
        let end = separator.map { $0 + 2 } ?? arguments.count
        for position in 0..<min(end, Int(CommandLine.argc)) {
            // SAFETY: argv contains argc null-terminated strings for the lifetime of the process.
            guard let argument = unsafe CommandLine.unsafeArgv[position] else { continue }
            if unsafe String(validatingCString: argument) == nil { return position }
        }
        return nil
    }

    /// The error message. It doesn't repeat any part of the argument.
    package static func complaint(about position: Int) -> String {
        "Argument \(position) isn't valid UTF-8. Pass it in UTF-8. Nothing was done."
    }
}

// MARK: - Standard streams

package enum StandardStreams {
    /// Opens a replacement for each closed standard descriptor, so that no file gets its number.
    ///
    /// The replacement is opened for the opposite direction: reading from a closed standard input
    /// and writing to a closed standard output or error still fail with `EBADF`.
    package static func occupyClosed() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
            // SAFETY: the path is a null-terminated copy for the duration of the call. The system
            // assigns the lowest free number. That is `descriptor`, because all lower numbers are
            // in use by now.
            _ = unsafe open("/dev/null", direction)
        }
    }

    /// Runs `body`, in which a library opens files or sockets, while no standard descriptor is
    /// free. The descriptors that were closed before are closed again afterwards.
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
    /// - Returns: The descriptor to use from now on. If it was moved, programs that are started
    ///   don't inherit it. If no descriptor is free, returns -1, sets `errno` and closes
    ///   `descriptor`.
    package static func moveAbove(_ descriptor: Int32) -> Int32 {
        guard (STDIN_FILENO...STDERR_FILENO).contains(descriptor) else { return descriptor }
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        let cause = errno
        close(descriptor)
        errno = cause
        return moved
    }
}
