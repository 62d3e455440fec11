// Service: a keychaind of this run's own, on the keychain in a folder.
//   (1) It is reached by a socket of its own, so it can't be mistaken for the user's.
//   (2) It ends with the object, and with it everything that it had open.

import BenchmarkFigures
import Foundation

final class Service {
    /// Of a program that uses this service. Without the folder it can't take the keychain for its
    /// own by mistake, and be measured as if it had asked.
    let variables: ChildProcess.Variables
    private let process: BackgroundProcess

    /// Starts it, with what it does by default, and waits until it answers.
    init(_ program: String, directory: String, in folder: WorkingFolder) throws {
        let socket = folder.disk + "/socket"
        variables = ["KEYCHAIN_DIRECTORY": nil, "KEYCHAIN_SERVICE": socket]
        process = try BackgroundProcess(
            program, ["--directory", directory, "--socket", socket], listeningAt: socket)
    }

    /// The most memory that it ever had, in bytes.
    var peakMemory: Double { Machine.peakMemory(ofProcess: "\(process.identifier)") }
}
