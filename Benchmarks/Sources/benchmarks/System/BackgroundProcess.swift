// BackgroundProcess: a program that runs in the background, and ends when the object is released.

import Foundation

final class BackgroundProcess {
    let identifier: pid_t
    private static let longestStart = 10e9

    /// Starts the program, and waits until its socket exists.
    init(
        _ program: String, _ arguments: [String], _ variables: ChildProcess.Variables = [:],
        input: String = "", listeningAt socket: String
    ) throws {
        try? FileManager.default.removeItem(atPath: socket)
        identifier = try ChildProcess.start(program, arguments, variables, input: input)
        let start = Instant.now
        while !FileManager.default.fileExists(atPath: socket) {
            guard Instant.now.nanoseconds(since: start) < Self.longestStart else {
                throw ChildFailure(description: "\(program) doesn't listen.")
            }
            usleep(1_000)
        }
    }

    deinit {
        kill(identifier, SIGTERM)
        _ = try? ChildProcess.end(of: identifier)
    }
}
