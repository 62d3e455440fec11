// Chip: a TPM 2.0 in software (swtpm), for one test.

import Foundation
import Glibc
import Testing

/// A chip, which is stopped when the last reference to this object is gone.
final class Chip {
    private let process = Process()
    private let folder: URL
    /// The value for the environment variable KEYCHAIN_TPM.
    var configuration: String { "swtpm:path=\(socket)" }

    // The socket isn't in the folder, because the folder's path may be too long for a socket.
    private let socket = "/tmp/capture-\(UUID().uuidString.prefix(8))"

    /// - Throws: An error if swtpm doesn't start. The Debian package `swtpm` contains the program.
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
        // swtpm writes this file when its command socket and its control socket listen.
        let end = ContinuousClock.now + .seconds(60)
        while (try? String(contentsOfFile: ready, encoding: .utf8))?.isEmpty ?? true {
            try #require(
                process.isRunning && ContinuousClock.now < end,
                "swtpm did not start. This test needs the Debian package swtpm.")
            usleep(1000)
        }
    }

    deinit {
        // On SIGTERM, swtpm would wait until its clients have disconnected.
        if process.isRunning {
            _ = kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        for name in [socket, socket + ".ctrl"] {
            try? FileManager.default.removeItem(atPath: name)
        }
    }
}
