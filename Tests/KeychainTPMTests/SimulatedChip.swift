// SimulatedChip: a TPM 2.0 that software plays (swtpm), in a folder of its own, for one test.

#if TPM

import Foundation
import Glibc
import KeychainCrypto
import KeychainCore
@testable import KeychainTPM

/// A chip that could not be started, and what to do about it.
struct NoSimulator: Error, CustomStringConvertible {
    let description: String
}

/// Stopped when the last reference goes.
final class SimulatedChip {
    private let folder: URL
    private var process: Process?

    /// - Throws: ``NoSimulator``.
    init() throws {
        _ = Self.quiet
        folder = URL(filePath: "/tmp/chip-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try start()
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Where raw commands are taken.
    var socketPath: String { folder.appending(path: "tpm").path }
    var configuration: String { "swtpm:path=\(socketPath)" }

    /// A new way to this chip, as another process would have it.
    func module(patience: Duration = .seconds(60)) -> TrustedPlatformModule {
        TrustedPlatformModule(configuration: configuration, patience: patience)
    }

    func connection() throws -> TSSConnection {
        try TSSConnection(TSSLibrary.ofThisSystem.get(), configuration: configuration)
    }

    /// Starts the chip, with the seeds that it had before.
    func start() throws {
        guard let path = Self.path else {
            throw NoSimulator(
                description: "These tests take a simulated TPM: the packages swtpm and "
                    + "libtss2-dev of Debian.")
        }
        let started = Process()
        started.executableURL = URL(filePath: path)
        started.arguments = [
            "socket", "--tpm2", "--tpmstate", "dir=\(folder.path),mode=0600",
            "--server", "type=unixio,path=\(socketPath),mode=0600",
            "--ctrl", "type=unixio,path=\(socketPath).ctrl,mode=0600",
            "--flags", "not-need-init,startup-clear", "--pid", "file=\(folder.path)/pid",
        ]
        started.standardOutput = FileHandle.nullDevice
        started.standardError = FileHandle.nullDevice
        try started.run()
        process = started
        // The file is written once both sockets listen.
        let end = ContinuousClock.now + .seconds(60)
        while (try? String(contentsOfFile: "\(folder.path)/pid", encoding: .utf8))?.isEmpty
            ?? true
        {
            guard started.isRunning, ContinuousClock.now < end else {
                throw NoSimulator(description: "swtpm did not start.")
            }
            usleep(1000)
        }
    }

    /// Stops the chip in the middle of whatever it does, as a power failure would.
    func kill() {
        guard let process else { return }
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
        for name in ["pid", "tpm", "tpm.ctrl"] {
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }

    private static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin")
        .split(separator: ":").map { $0 + "/swtpm" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Failures are what many of these tests are about; tpm2-tss would print each. It reads
    /// the variable when it is loaded, which is after this.
    private static let quiet: Void = {
        // SAFETY: both strings are copied. glibc leaves the first environment of a process
        // where it is, so that a thread that reads it meanwhile isn't disturbed.
        _ = unsafe setenv("TSS2_LOG", "all+NONE", 1)
    }()
}

/// The statuses of failures, for comparisons.
func status(_ body: () throws -> Void) -> Status? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeychainFailure)?.status
    }
}

func bytes(_ secret: SecretBytes) -> [UInt8] { secret.plainBytes }

#endif
