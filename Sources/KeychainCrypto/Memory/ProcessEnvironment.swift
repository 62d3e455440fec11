// ProcessEnvironment: what this process was started with: its variables, arguments and standard
// streams.
//   (1) No other code of this package reads a variable.
//   (2) A program with more rights than its caller (set-user-ID, set-group-ID, file capabilities)
//       believes none: they would have it open another's keychain, or ask another service, with
//       rights that its caller doesn't have.
//   (3) A value that is not UTF-8 stands for no path: Swift would make one of two different ones.
//   (4) The tools refuse arguments that are not UTF-8 before they look at any: Swift puts U+FFFD in
//       place of such bytes, so that two different names become one.
//       What `run` gives to another program goes to it byte for byte, whatever it is.
//   (5) A program can be started with descriptors 0 to 2 (standard input, output and error) closed.
//       The next file that it opens gets the number, and what the program prints, a secret perhaps,
//       is written into that file. So the tools put something in place of a closed one before they
//       open anything, and the keychain's own files and sockets never keep such a number, in any
//       program.

// `environ` is a variable of C, which no thread of this package changes.
@unsafe @preconcurrency import Glibc

package enum ProcessEnvironment {
    /// The variables; none where they are not to be believed.
    ///
    /// Foundation gives the same, and takes a fifth of the time of `keychainctl get` for it.
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        // SAFETY: glibc's array of terminated strings ends with nil.
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

    /// Whether the caller set a variable, to whatever it is.
    package static func isSet(_ name: String) -> Bool {
        // SAFETY: the name is a terminated copy for the call; what is found is not read.
        unsafe getenv(name) != nil
    }

    /// Reads and forgets a variable, so that no child takes it for its own. The caller has no other
    /// thread yet.
    package static func take(_ name: String) -> String? {
        let value = variables[name]
        // SAFETY: the name is a terminated copy for the call; no other code reads variables
        // meanwhile.
        _ = unsafe unsetenv(name)
        return value
    }

    /// A variable's name and value, from `name=value`. A value that is not UTF-8 is U+FFFD alone,
    /// which no path is; nil: the name is not UTF-8.
    static func variable(_ entry: UnsafePointer<CChar>) -> (name: String, value: String)? {
        // SAFETY: the string is terminated, and `=` stands within it.
        guard let equals = unsafe strchr(entry, Int32(UInt8(ascii: "="))) else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(
            start: entry, count: equals - UnsafeMutablePointer(mutating: entry))
        guard let name = unsafe String(validating: bytes, as: UTF8.self) else { return nil }
        return (name, unsafe String(validatingCString: equals + 1) ?? "\u{FFFD}")
    }

    // MARK: Rights

    /// Whether this program has rights that its caller doesn't have.
    package static var hasRightsOfOthers: Bool {
        isSecureExecution || getuid() != geteuid() || getgid() != getegid()
    }

    /// What the kernel said of the program when it was started, AT_SECURE of linux/auxvec.h. It
    /// stays when the program gives its rights back.
    private static let isSecureExecution = auxiliaryValue(23) != 0

    private typealias Getauxval = @convention(c) (CUnsignedLong) -> CUnsignedLong

    /// The corresponding C function is `getauxval`, which Swift's module of glibc lacks.
    private static func auxiliaryValue(_ type: CUnsignedLong) -> CUnsignedLong {
        // SAFETY: the symbol is glibc's `unsigned long getauxval(unsigned long)`.
        guard let symbol = unsafe dlsym(nil, "getauxval") else { return 0 }
        return unsafe unsafeBitCast(symbol, to: Getauxval.self)(type)
    }

    // MARK: The user

    /// The home folder: `HOME`, or what the user database says. nil: neither names one.
    package static func home(_ variables: [String: String]) -> String? {
        if let home = variables["HOME"], home.hasPrefix("/") { return home }
        return homeInUserDatabase
    }

    private static var homeInUserDatabase: String? {
        // SAFETY: the entry's texts lie in the array, whose size is given; they are copied before
        // it goes.
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
    /// The position of the first argument that is not valid UTF-8, as the shell counts: `$1` is 1.
    /// What follows the name of a program after `run … --` is that program's. nil: all are.
    package static var firstInvalidPosition: Int? {
        let arguments = CommandLine.arguments
        let separator = arguments.dropFirst().first == "run" ? arguments.firstIndex(of: "--") : nil
        let end = separator.map { $0 + 2 } ?? arguments.count
        for position in 0..<min(end, Int(CommandLine.argc)) {
            // SAFETY: argv holds argc terminated strings for the life of the process.
            guard let argument = unsafe CommandLine.unsafeArgv[position] else { continue }
            if unsafe String(validatingCString: argument) == nil { return position }
        }
        return nil
    }

    /// What to tell the person. It repeats nothing of the argument.
    package static func complaint(about position: Int) -> String {
        "Argument \(position) isn't valid UTF-8. Names are texts: give it in UTF-8. Nothing was done."
    }
}

// MARK: - Standard streams

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
