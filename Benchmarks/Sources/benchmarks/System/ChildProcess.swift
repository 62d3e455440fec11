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

        /// The one number that it wrote.
        func number() throws -> Double {
            let text = output.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let number = Double(text) else {
                throw ChildFailure(description: "A child wrote \"\(text)\", not a number.")
            }
            return number
        }

        /// The moment that it wrote.
        func moment() throws -> Instant { Instant(nanoseconds: UInt64(try number())) }
    }

    /// Runs a program and waits for its end. Standard error stays that of this process.
    ///
    /// `posix_spawn` is called directly: the time that Foundation's class needs is that of a
    /// small program's whole life. `variables` are arguments of `env`, such as "name=value",
    /// that change its environment.
    static func run(
        _ path: String, _ arguments: [String], _ variables: [String] = []
    ) throws -> Run {
        // Another program sets them: in this process other threads may read the environment.
        guard variables.isEmpty else {
            return try run("/usr/bin/env", variables + [path] + arguments)
        }
        let output = Pipe()
        let writing = output.fileHandleForWriting
        let started = Instant.now
        let identifier = try spawn(path, arguments, [1: writing.fileDescriptor])
        try writing.close()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        let status = try end(of: identifier)
        let ended = Instant.now
        guard status == 0 else {
            throw ChildFailure(description: "\(path) ended with status \(status >> 8).")
        }
        return Run(output: String(decoding: bytes, as: UTF8.self), started: started, ended: ended)
    }

    /// The number that this program writes in a role.
    static func figure(of role: [String], _ variables: [String]) throws -> Double {
        try run(try ownPath(), role, variables).number()
    }

    /// Starts a program whose output nobody reads.
    static func start(_ path: String, _ arguments: [String]) throws -> pid_t {
        let nowhere = try FileHandle(forUpdating: URL(fileURLWithPath: "/dev/null"))
        let descriptor = nowhere.fileDescriptor
        return try spawn(path, arguments, [0: descriptor, 1: descriptor, 2: descriptor])
    }

    /// Waits for the end of a child.
    /// - Returns: Its status, as `waitpid` gives it.
    static func end(of identifier: pid_t) throws -> Int32 {
        var status: Int32 = 0
        // SAFETY: the call fills the value that it is given.
        while unsafe waitpid(identifier, &status, 0) < 0 {
            guard errno == EINTR else { throw ChildFailure(description: "There is no such child.") }
        }
        return status
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ descriptors: [Int32: Int32]
    ) throws -> pid_t {
        var identifier: pid_t = 0
        // SAFETY: the strings that argv points to live until they are freed below, and argv ends
        // with nil; the file actions are initialized before and destroyed after their use.
        let argv = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe argv.forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        let code = unsafe posix_spawn(&identifier, path, &actions, nil, argv, environ)
        guard code == 0 else { throw ChildFailure(description: "\(path) can't be started.") }
        return identifier
    }

    /// The program that runs now.
    static func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
