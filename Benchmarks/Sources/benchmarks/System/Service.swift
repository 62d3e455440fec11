// Service: a keychaind, started for this run, that serves the keychain in a given folder.
//   (1) It has its own socket, so it can't be confused with the user's service.
//   (2) It ends when the object is released.

import BenchmarkFigures
import Foundation

final class Service {
    /// The variables for a program that uses this service. KEYCHAIN_DIRECTORY is removed.
    /// Otherwise the program might open the keychain itself by mistake, and the service would not
    /// be measured.
    let variables: ChildProcess.Variables
    private let process: BackgroundProcess

    /// Starts the service with its defaults, and waits until its socket exists.
    init(_ program: String, directory: String, in folder: WorkingFolder) throws {
        let socket = folder.disk + "/socket"
        variables = ["KEYCHAIN_DIRECTORY": nil, "KEYCHAIN_SERVICE": socket]
        process = try BackgroundProcess(
            program, ["--directory", directory, "--socket", socket], listeningAt: socket)
    }

    /// The peak memory of the service in bytes.
    var peakMemory: Double { Machine.peakMemory(ofProcess: "\(process.identifier)") }
}
