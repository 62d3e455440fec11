// ChildProcess: starts other processes and waits for their end.

import Foundation

struct ChildFailure: Error, CustomStringConvertible {
    let description: String
}

enum ChildProcess {
    struct Run {
        /// The standard output of the process.
        let output: String
        let started: Instant
        let ended: Instant

        var duration: Double { ended.nanoseconds(since: started) }

        /// The number that the process wrote.
        func number() throws -> Double {
            let text = output.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let number = Double(text) else {
                throw ChildFailure(description: "A child wrote \"\(text)\", not a number.")
            }
            return number
        }

        /// The instant that the process wrote, as a number of nanoseconds.
        func moment() throws -> Instant { Instant(nanoseconds: UInt64(try number())) }
    }

    /// The variables in which a child's environment differs from that of this process. The child
    /// doesn't get a variable whose value is `nil`.
    typealias Variables = [String: String?]

    /// Runs a program and waits for its end.
    ///
    /// `posix_spawn` is called directly, since Foundation's `Process` adds as much time as the
    /// whole run of a small program takes. `input` has to fit into the buffer of a pipe, since it
    /// is written before the program starts. The program has the standard error of this process,
    /// unless `isQuiet` is `true`.
    static func run(
        _ path: String, _ arguments: [String], _ variables: Variables = [:], input: String = "",
        isQuiet: Bool = false
    ) throws -> Run {
        let output = pipe()
        let writing = output.fileHandleForWriting
        let reading = try pipe(holding: input)
        let nowhere = try nowhere()
        let environment = environment(with: variables)
        var descriptors: [Int32: Int32] = [
            0: reading.fileDescriptor, 1: writing.fileDescriptor,
        ]
        if isQuiet { descriptors[2] = nowhere.fileDescriptor }
        let started = Instant.now
        // A handle closes its descriptor when it is released.
        let identifier = try withExtendedLifetime((reading, nowhere)) {
            try spawn(path, arguments, environment, descriptors)
        }
        try writing.close()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        let status = try end(of: identifier)
        let ended = Instant.now
        guard status == 0 else {
            throw ChildFailure(description: "\(path) ended with status \(status >> 8).")
        }
        return Run(output: String(decoding: bytes, as: UTF8.self), started: started, ended: ended)
    }

    /// Runs this program in a role, and returns the number that it writes.
    static func figure(of role: [String], _ variables: Variables = [:]) throws -> Double {
        try run(try ownPath(), role, variables).number()
    }

    /// Starts a program and discards its output.
    static func start(
        _ path: String, _ arguments: [String], _ variables: Variables = [:], input: String = ""
    ) throws -> pid_t {
        let nowhere = try nowhere()
        let reading = try pipe(holding: input)
        let descriptor = nowhere.fileDescriptor
        return try withExtendedLifetime((reading, nowhere)) {
            try spawn(
                path, arguments, environment(with: variables),
                [0: reading.fileDescriptor, 1: descriptor, 2: descriptor])
        }
    }

    /// Starts a program that communicates over pipes.
    static func start(
        _ path: String, _ arguments: [String], _ variables: Variables, input: Pipe, output: Pipe
    ) throws -> pid_t {
        let identifier = try spawn(
            path, arguments, environment(with: variables),
            [
                0: input.fileHandleForReading.fileDescriptor,
                1: output.fileHandleForWriting.fileDescriptor,
            ])
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        return identifier
    }

    /// Waits for the end of a child.
    /// - Returns: The child's status, as `waitpid` returns it.
    static func end(of identifier: pid_t) throws -> Int32 {
        var status: Int32 = 0
        // SAFETY: the call fills the value that it is given.
        while unsafe waitpid(identifier, &status, 0) < 0 {
            guard errno == EINTR else { throw ChildFailure(description: "There is no such child.") }
        }
        return status
    }

    /// A pipe whose ends are inherited only by the child that they are passed to. If another child
    /// had the writing end open, the reader would not see the end of its input.
    static func pipe() -> Pipe {
        let pipe = Pipe()
        for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        return pipe
    }

    private static func nowhere() throws -> FileHandle {
        try FileHandle(forUpdating: URL(fileURLWithPath: "/dev/null"))
    }

    /// The reading end of a pipe that contains the complete input of a program.
    private static func pipe(holding input: String) throws -> FileHandle {
        let pipe = pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try pipe.fileHandleForWriting.close()
        return pipe.fileHandleForReading
    }

    private static func environment(with variables: Variables) -> [String] {
        ProcessInfo.processInfo.environment
            .merging(variables.compactMapValues(\.self)) { _, new in new }
            .filter { variables[$0.key] != .some(nil) }
            .map { "\($0.key)=\($0.value)" }
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String],
        _ descriptors: [Int32: Int32]
    ) throws -> pid_t {
        var identifier: pid_t = 0
        // SAFETY: the strings that both lists point to live until they are freed below, and the
        // lists end with nil; the file actions are initialized before and destroyed after their
        // use.
        let argv = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        let envp = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (argv + envp).forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        let code = unsafe posix_spawn(&identifier, path, &actions, nil, argv, envp)
        guard code == 0 else { throw ChildFailure(description: "\(path) can't be started.") }
        return identifier
    }

    /// The path of a program, found by its name in `PATH`.
    static func path(of program: String) throws -> String {
        let folders = Environment.value("PATH")?.split(separator: ":").map(String.init) ?? []
        let paths = folders.map { $0 + "/" + program }
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
            throw ChildFailure(description: "there is no \(program)")
        }
        return path
    }

    /// The path of this program.
    static func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
