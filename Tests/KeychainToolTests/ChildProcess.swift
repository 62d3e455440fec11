// ChildProcess: programs started for a test, each in a separate session.
//   (1) The session has no terminal, or a pseudoterminal of the test, so that a program never waits
//       for the user who runs the tests.
//   (2) A program on a pseudoterminal that stays silent for a minute is killed, and the test fails.
//       Waiting for a program to end has no timeout.

import Foundation
import Glibc
import Testing

/// How a program ended: with an exit status or by a signal.
enum Ending: Hashable, CustomStringConvertible {
    case exit(Int32)
    case signal(Int32)

    init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .exit(waitStatus >> 8 & 0xFF) : .signal(signal)
    }

    var description: String {
        switch self {
        case .exit(let status): "exit \(status)"
        case .signal(let number): "signal \(number)"
        }
    }
}

enum ChildProcess {
    /// The folder of the built programs, which also contains the test program.
    static let programs: String = {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return path.map { ($0 as NSString).deletingLastPathComponent } ?? "."
    }()

    /// A file to open as a descriptor of the program.
    struct Opened {
        let descriptor: Int32
        let path: String
        let flags: Int32
    }

    /// Starts a program in a new session.
    /// - Returns: Its process id.
    static func spawn(
        _ arguments: [String], environment: [String: String], opening: [Opened]
    ) throws -> pid_t {
        // SAFETY: both objects are initialized here and destroyed below; the string arrays are
        // terminated copies that live until after the call.
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The program that started the tests may ignore or block signals. The child must not ignore
        // any of the signals below, and must not block any signal.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM] {
            unsafe sigaddset(&signals, signal)
        }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe posix_spawnattr_setflags(
            &attributes, ownSession | Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // The child doesn't inherit the open descriptors of the tests, of which there may be
        // thousands, or those of the shell that started the tests.
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        for descriptor in names.compactMap({ Int32($0) }) where descriptor > STDERR_FILENO {
            unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        for file in opening {
            unsafe posix_spawn_file_actions_addopen(
                &actions, file.descriptor, file.path, file.flags, 0o600)
        }
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
        defer {
            unsafe argv.forEach { unsafe free($0) }
            unsafe envp.forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let code = unsafe posix_spawn(
            &process, try #require(arguments.first), &actions, &attributes, &argv, &envp)
        try #require(code == 0, "\(arguments): \(code)")
        return process
    }

    /// POSIX_SPAWN_SETSID of spawn.h, which is only declared for _GNU_SOURCE.
    private static let ownSession: Int16 = 0x80

    /// Waits for a program to end.
    static func wait(for process: pid_t) throws -> Ending {
        var status: Int32 = 0
        while true {
            // SAFETY: the status is written within the call.
            let result = unsafe waitpid(process, &status, 0)
            if result == process { return Ending(waitStatus: status) }
            try #require(errno == EINTR)
        }
    }
}

/// A temporary folder that is the home folder of the programs in a test.
final class TestHome {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "keychainctl-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The environment of the programs, which inherits nothing from that of the tests.
    var environment: [String: String] {
        [
            "HOME": path, "LC_ALL": "C.UTF-8", "COLUMNS": "80", "TERM": "dumb",
            "PATH": ChildProcess.programs + ":/usr/bin:/bin",
            // Programs don't reach a service of the user who runs the tests.
            "XDG_RUNTIME_DIR": "",
            // Programs don't use a TPM of this machine.
            "KEYCHAIN_TPM": "none",
            // Programs don't use this machine's identity.
            "KEYCHAIN_MACHINE": "none",
        ]
    }

    struct Outcome {
        let output: String
        let errors: String
        let ending: Ending
    }

    /// Runs a shell command without a terminal and with empty standard input.
    func run(_ command: String) throws -> Outcome {
        let files = ["output", "errors"].map { path + "/." + $0 }
        let process = try ChildProcess.spawn(
            ["/bin/sh", "-c", "cd \"$HOME\" && eval \"$1\"", "sh", command],
            environment: environment,
            opening: [
                .init(descriptor: 0, path: "/dev/null", flags: O_RDONLY),
                .init(descriptor: 1, path: files[0], flags: O_WRONLY | O_CREAT | O_TRUNC),
                .init(descriptor: 2, path: files[1], flags: O_WRONLY | O_CREAT | O_TRUNC),
            ])
        let ending = try ChildProcess.wait(for: process)
        let texts = try files.map {
            String(decoding: try #require(FileManager.default.contents(atPath: $0)), as: UTF8.self)
        }
        return Outcome(output: texts[0], errors: texts[1], ending: ending)
    }
}
