// ProgramStart: starts a program that replaces this process or runs as its child. The program gets
// the inheritable file descriptors of this process, its variables unless they are cleared, and
// arguments of this process or other ones.
//   (1) Arguments and variables from the caller are passed on byte for byte. Swift's strings would
//       replace bytes that aren't valid UTF-8.
//   (2) Added variables are kept in memory for secrets until the kernel has copied them.

package import Glibc
package import KeychainCore
import KeychainCrypto
import KeychainTPM

package struct ProgramStart {
    private let path: String
    private let argumentCount: Int
    /// Arguments that replace those of this process, the program's name first.
    private let ownArguments: [String]?
    private let isCleared: Bool
    /// The names of variables that aren't passed on, because this process set them itself.
    private let leftOut: [[UInt8]]
    /// Added variables: the name, and `NAME=VALUE` with the terminating NUL.
    private var variables: [(name: [UInt8], entry: SecretBytes)] = []

    /// Prepares to start a program with arguments of this process.
    ///
    /// - Parameters:
    ///   - path: The path of the program, absolute or relative to the working folder.
    ///   - argumentCount: How many of this process's last arguments to pass. The first of them is
    ///     the program's name.
    ///   - isCleared: Pass `true` to pass none of this process's variables.
    package init(_ path: String, argumentCount: Int, isCleared: Bool) {
        self.path = path
        self.argumentCount = argumentCount
        ownArguments = nil
        self.isCleared = isCleared
        leftOut = PlatformHardware.ownVariables.map { Array($0.utf8) }
    }

    /// Prepares to start a program with the given arguments, of which the first is its name.
    package init(_ path: String, arguments: [String]) {
        self.path = path
        argumentCount = 0
        ownArguments = arguments
        isCleared = false
        leftOut = PlatformHardware.ownVariables.map { Array($0.utf8) }
    }

    /// Sets a variable, which replaces the caller's variable of this name. A NUL would end the
    /// value.
    package mutating func set(_ name: String, to value: SecretBytes) {
        let prefix = SecretBytes(copying: Array((name + "=").utf8))
        let end = SecretBytes(copying: [0])
        variables.append((Array(name.utf8), prefix.appending(value).appending(end)))
    }

    // MARK: Finding

    /// Finds a program by its path, or in the folders of `PATH`.
    ///
    /// - Returns: The path. `nil` if there is none; `errno` is ENOENT if it doesn't exist and
    ///   EACCES if it can't be executed.
    package static func find(_ name: String, in path: String?) -> String? {
        if name.contains("/") { return isExecutable(name) ? name : nil }
        var code = ENOENT
        let folders = (path ?? "/bin:/usr/bin").split(
            separator: ":", omittingEmptySubsequences: false)
        for folder in folders where !name.isEmpty {
            let candidate = (folder.isEmpty ? "." : folder) + "/" + name
            if isExecutable(candidate) { return candidate }
            if errno == EACCES { code = EACCES }
        }
        errno = code
        return nil
    }

    private static func isExecutable(_ path: String) -> Bool {
        guard let status = Files.status(of: path) else {
            if errno == ENOTDIR { errno = ENOENT }
            return false
        }
        guard status.isPlainFile else {
            errno = EACCES
            return false
        }
        return Files.mayExecute(path)
    }

    // MARK: Starting

    /// Replaces this process with the program.
    ///
    /// - Returns: The error number. The function returns only on failure.
    package func replaceProcess() -> Int32 {
        // SAFETY: the arrays are those that `withVectors` gives, terminated and alive for the call.
        unsafe withVectors { path, arguments, environment in
            _ = unsafe execve(path, arguments, environment)
            return errno
        }
    }

    /// Starts the program as a child, with other standard streams if they are given. A program with
    /// its own session survives the end of the terminal and receives no signals from the terminal.
    ///
    /// - Returns: The process id and the code 0. If the program can't be started, the code is the
    ///   error number.
    package func spawn(
        input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil,
        hasOwnSession: Bool = false
    ) -> (process: pid_t, code: Int32) {
        // SAFETY: both objects are initialized here and destroyed below; the arrays that
        // `withVectors` gives are terminated and alive for the call.
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let streams = [(input, STDIN_FILENO), (output, STDOUT_FILENO), (errors, STDERR_FILENO)]
        for case (let descriptor?, let stream) in streams {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, stream)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        if hasOwnSession { unsafe posix_spawnattr_setflags(&attributes, Self.ownSession) }
        var process: pid_t = 0
        let code = unsafe withVectors { path, arguments, environment in
            unsafe posix_spawn(&process, path, &actions, &attributes, arguments, environment)
        }
        return (process, code)
    }

    /// POSIX_SPAWN_SETSID of spawn.h, which glibc declares only with _GNU_SOURCE.
    private static let ownSession: Int16 = 0x80

    /// Waits for a started program to end.
    ///
    /// - Returns: Its exit status. `nil` if a signal ended it, or if it can't be waited for.
    package static func exitStatus(of process: pid_t) -> Int32? {
        var status: Int32 = 0
        // SAFETY: the status is written within the call.
        while unsafe waitpid(process, &status, 0) != process {
            guard errno == EINTR else { return nil }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    private typealias Vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// Calls `start` with the program. If the kernel doesn't know the file's format, as for a
    /// script without an interpreter line, calls it again with the shell, like execvp(3).
    private func withVectors(_ start: (String, Vector, Vector) -> Int32) -> Int32 {
        // SAFETY: argv has argc terminated strings for the life of the process, and the environment
        // isn't changed here. The entries of `variables` and the copies of paths are alive until
        // the end of this function and stay where they are.
        var environment = unsafe inherited
        for (_, entry) in variables {
            unsafe environment.append(
                entry.withUnsafeBytes {
                    unsafe UnsafeMutableRawPointer(mutating: $0.baseAddress)?
                        .assumingMemoryBound(to: CChar.self)
                })
        }
        unsafe environment.append(nil)
        let first = Int(CommandLine.argc) - argumentCount
        let copies = unsafe (ownArguments ?? []).map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        var arguments =
            unsafe copies
            + (first..<Int(CommandLine.argc)).map {
                unsafe CommandLine.unsafeArgv[$0]
            }
        unsafe arguments.append(nil)
        let shell = unsafe [strdup("/bin/sh"), strdup(path)]
        defer { unsafe shell.forEach { unsafe free($0) } }
        return withExtendedLifetime(variables) {
            let code = unsafe start(path, &arguments, &environment)
            guard code == ENOEXEC else { return code }
            var script = unsafe shell + arguments.dropFirst()
            return unsafe start("/bin/sh", &script, &environment)
        }
    }

    /// The variables of the caller, except those that are set or left out here.
    private var inherited: [UnsafeMutablePointer<CChar>?] {
        // SAFETY: the symbol is glibc's `char **environ`, terminated by nil. keychainctl sets
        // variables only while it has no other threads.
        guard !isCleared, let symbol = unsafe dlsym(nil, "environ"),
            var entry = unsafe symbol.load(as: Vector?.self)
        else { return unsafe [] }
        let others = Set(variables.map(\.name) + leftOut)
        var kept: [UnsafeMutablePointer<CChar>?] = unsafe []
        while let text = unsafe entry.pointee {
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: strlen(text))
            if unsafe !others.contains(Array(bytes.prefix { $0 != UInt8(ascii: "=") })) {
                unsafe kept.append(text)
            }
            unsafe entry += 1
        }
        return unsafe kept
    }
}
