// ChildProcess: another process, from its start to its end.

import Foundation

struct ChildFailure: Error, CustomStringConvertible {
    let description: String
}

enum ChildProcess {
    struct Run {
        /// What it wrote to standard output.
        let output: String
        let started: Instant
        let ended: Instant

        var duration: Double { ended.nanoseconds(since: started) }
    }

    /// Runs a program and waits for its end. Standard error stays that of this process.
    ///
    /// `posix_spawn` is called directly: the time that Foundation's class needs is that of a
    /// small program's whole life.
    static func run(_ path: String, _ arguments: [String]) throws -> Run {
        let output = Pipe()
        let writing = output.fileHandleForWriting
        var identifier: pid_t = 0
        // SAFETY: the strings that argv points to live until they are freed below, and argv ends
        // with nil; the file actions are initialized before and destroyed after their use.
        let argv = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe argv.forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, writing.fileDescriptor, 1)

        let started = Instant.now
        let code = unsafe posix_spawn(&identifier, path, &actions, nil, argv, environ)
        guard code == 0 else { throw ChildFailure(description: "\(path) can't be started.") }
        try writing.close()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        let ended = Instant.now
        guard status == 0 else {
            throw ChildFailure(description: "\(path) ended with status \(status >> 8).")
        }
        return Run(output: String(decoding: bytes, as: UTF8.self), started: started, ended: ended)
    }

    /// The program that runs now.
    static func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
