// ProgramStart: a program that takes the place of this one, or runs below it, with the variables and
// descriptors of this process, and its arguments or others.
//   (1) Arguments and variables that came from the caller go on byte for byte: Swift's texts would
//       change what is not UTF-8.
//   (2) What is added to the variables lies in memory for secrets until the kernel has copied it.

package import Glibc
package import KeychainCore
import KeychainCrypto
import KeychainTPM

package struct ProgramStart {
    private let path: String
    private let argumentCount: Int
    /// In the place of this process's arguments, its name first.
    private let ownArguments: [String]?
    private let isCleared: Bool
    /// Variables that the caller doesn't have.
    private let leftOut: [[UInt8]]
    /// `NAME=VALUE` with the NUL at its end, by its name.
    private var variables: [(name: [UInt8], entry: SecretBytes)] = []

    /// - Parameters:
    ///   - path: Of the program, absolute or relative to the working folder.
    ///   - argumentCount: How many of this process's last arguments it gets; the first of them is
    ///     its name.
    ///   - isCleared: Whether it gets none of this process's variables.
    package init(_ path: String, argumentCount: Int, isCleared: Bool) {
        self.path = path
        self.argumentCount = argumentCount
        ownArguments = nil
        self.isCleared = isCleared
        leftOut = PlatformHardware.ownVariables.map { Array($0.utf8) }
    }

    /// A program with arguments of its own, of which the first is its name.
    package init(_ path: String, arguments: [String]) {
        self.path = path
        argumentCount = 0
        ownArguments = arguments
        isCleared = false
        leftOut = PlatformHardware.ownVariables.map { Array($0.utf8) }
    }

    /// Sets a variable, in the place of the caller's of this name. A NUL would end its value.
    package mutating func set(_ name: String, to value: SecretBytes) {
        let prefix = SecretBytes(copying: Array((name + "=").utf8))
        let end = SecretBytes(copying: [0])
        variables.append((Array(name.utf8), prefix.appending(value).appending(end)))
    }

    // MARK: Finding

    /// Where a program is: by its path, or in the folders that `PATH` names.
    ///
    /// - Returns: nil where it isn't, or can't be executed; `errno` says which, by ENOENT.
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

    /// Has the program take the place of this one, in the same process.
    ///
    /// - Returns: Only where that failed: the error's number.
    package func replaceProcess() -> Int32 {
        // SAFETY: the arrays are those that `withVectors` gives, terminated and alive for the call.
        unsafe withVectors { path, arguments, environment in
            _ = unsafe execve(path, arguments, environment)
            return errno
        }
    }

    /// Starts the program below this process, with other standard streams where they are given.
    /// In a session of its own it stays when the terminal goes, and takes no signal of it.
    ///
    /// - Returns: Its process number, or the error's number where it can't be started.
    package func spawn(
        input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil,
        hasOwnSession: Bool = false
    ) -> (process: pid_t, code: Int32) {
        // SAFETY: both objects are initialized here and destroyed below; the arrays are as above.
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

    /// POSIX_SPAWN_SETSID of spawn.h, which is declared for GNU sources only.
    private static let ownSession: Int16 = 0x80

    /// Waits for a program that was started.
    ///
    /// - Returns: Its exit status; nil where a signal ended it.
    package static func exitStatus(of process: pid_t) -> Int32? {
        var status: Int32 = 0
        // SAFETY: the status is written within the call.
        while unsafe waitpid(process, &status, 0) != process {
            guard errno == EINTR else { return nil }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    private typealias Vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// Calls `start`, and for a text without a line that names its interpreter once more with the
    /// shell, as execvp(3) does.
    private func withVectors(_ start: (String, Vector, Vector) -> Int32) -> Int32 {
        // SAFETY: argv holds argc terminated strings for the life of the process, and of the
        // environment nothing is changed here. The entries of `variables` and the copies of paths
        // are alive until the end of this function and stay where they are.
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

    /// The variables of the caller but those that are set here.
    private var inherited: [UnsafeMutablePointer<CChar>?] {
        // SAFETY: the symbol is glibc's `char **environ`, terminated by nil. The tool sets variables
        // while it has no other threads only.
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
