// Service: a keychaind of this run's own, on the keychain in a folder.
//   (1) It is reached by a socket of its own, so it can't be mistaken for the user's.
//   (2) It ends with the object, and with it everything that it had open.

import Foundation

final class Service {
    /// Arguments of `env` for a program that uses this service. Without the folder it can't take the
    /// keychain for its own by mistake, and be measured as if it had asked.
    let variables: [String]
    private let identifier: pid_t
    private static let longestStart = 10e9

    /// Starts it, with what it does by default, and waits until it answers.
    init(_ program: String, directory: String, in folder: WorkingFolder) throws {
        let socket = folder.disk + "/socket"
        variables = ["-u", "KEYCHAIN_DIRECTORY", "KEYCHAIN_SERVICE=\(socket)"]
        try? FileManager.default.removeItem(atPath: socket)
        identifier = try ChildProcess.start(
            program, ["--directory", directory, "--socket", socket])
        let deadline = Instant.now
        while !FileManager.default.fileExists(atPath: socket) {
            guard Instant.now.nanoseconds(since: deadline) < Self.longestStart else {
                throw ChildFailure(description: "\(program) doesn't listen.")
            }
            usleep(1_000)
        }
    }

    deinit {
        kill(identifier, SIGTERM)
        _ = try? ChildProcess.end(of: identifier)
    }

    /// The most memory that it ever had, in bytes.
    var peakMemory: Double { Machine.peakMemory(ofProcess: "\(identifier)") }
}
