// Chip: a TPM 2.0 that software plays (swtpm), for one test.

import Foundation
import Glibc
import Testing

/// Stopped when the last reference goes.
final class Chip {
    private let process = Process()
    private let folder: URL
    /// What the variable KEYCHAIN_TPM has to be.
    var configuration: String { "swtpm:path=\(socket)" }

    // A socket's path has little room, and the test's folder may be deep.
    private let socket = "/tmp/capture-\(UUID().uuidString.prefix(8))"

    /// - Throws: Where there is no swtpm, the package of Debian of that name.
    init(in folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process.executableURL = URL(filePath: "/usr/bin/env")
        let ready = folder.appending(path: "pid").path
        process.arguments = [
            "swtpm", "socket", "--tpm2", "--tpmstate", "dir=\(folder.path),mode=0600",
            "--server", "type=unixio,path=\(socket),mode=0600",
            "--ctrl", "type=unixio,path=\(socket).ctrl,mode=0600",
            "--flags", "not-need-init,startup-clear", "--pid", "file=\(ready)",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The file is written once both sockets listen.
        let end = ContinuousClock.now + .seconds(60)
        while (try? String(contentsOfFile: ready, encoding: .utf8))?.isEmpty ?? true {
            try #require(
                process.isRunning && ContinuousClock.now < end,
                "swtpm did not start: this test takes the package of that name")
            usleep(1000)
        }
    }

    deinit {
        // On SIGTERM it waits until its clients have disconnected.
        _ = kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        for name in [socket, socket + ".ctrl"] {
            try? FileManager.default.removeItem(atPath: name)
        }
    }
}
