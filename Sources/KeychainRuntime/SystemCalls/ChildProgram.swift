// ChildProgram: starts another program, and waits for it or leaves it running.
//   (1) The program's input is /dev/null, and its output and errors go to one descriptor. The
//       program doesn't inherit the descriptors 3 to 255.
//   (2) SIGHUP, SIGINT, SIGQUIT, SIGPIPE and SIGTERM have their default action in the program, even
//       if the calling process ignores them.

package import Glibc
package import KeychainCrypto

package struct ChildProgram: Sendable {
    package let process: pid_t

    /// POSIX_SPAWN_SETSID of spawn.h, which glibc declares only with _GNU_SOURCE.
    private static let ownSession: Int16 = 0x80

    /// Starts the program at an absolute path, with exactly the given environment variables. `nil`
    /// with `errno` set if the program can't be started.
    ///
    /// A detached program has its own session, so that it survives the end of the terminal, and `/`
    /// as its working folder. Starting a detached program also changes the working folder of the
    /// calling process to `/`.
    package init?(
        _ path: String, _ arguments: [String], environment: [String: String],
        output: Int32, isDetached: Bool = false
    ) {
        // SAFETY: both objects are initialized here and destroyed below; the string arrays are
        // terminated copies that live until after the call.
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM] {
            unsafe sigaddset(&signals, signal)
        }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
                | (isDetached ? Self.ownSession : 0))
        unsafe posix_spawn_file_actions_addopen(
            &actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        // Other inherited file descriptors would stay open for as long as the program runs.
        for descriptor in STDERR_FILENO + 1...255 {
            unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        // The program inherits the working folder, and would keep that folder's file system in
        // use.
        if isDetached { _ = unsafe chdir("/") }
        var argv = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
        defer {
            unsafe argv.forEach { unsafe free($0) }
            unsafe envp.forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let code = unsafe posix_spawn(&process, path, &actions, &attributes, &argv, &envp)
        guard code == 0 else {
            errno = code
            return nil
        }
        self.process = process
    }

    /// Waits for the program to end.
    /// - Returns: Its exit status. `nil` if a signal ended it, or if it can't be waited for.
    package func exitStatus() -> Int32? {
        var status: Int32 = 0
        // SAFETY: the status is written within the call.
        while unsafe waitpid(process, &status, 0) != process {
            guard errno == EINTR else { return nil }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    /// Whether the program has ended. If so, its exit status is discarded.
    package var hasEnded: Bool {
        var status: Int32 = 0
        // SAFETY: the status is written within the call.
        return unsafe waitpid(process, &status, WNOHANG) != 0
    }
}

/// Finds the process of a running service.
package enum RunningService {
    /// The process that listens at a socket. `nil` if there is none or connecting fails.
    package static func process(at socket: String) -> UnixSockets.Credentials? {
        guard let descriptor = UnixSockets.make(),
            UnixSockets.connect(descriptor, to: socket)
        else { return nil }
        return UnixSockets.peer(of: descriptor)
    }
}
