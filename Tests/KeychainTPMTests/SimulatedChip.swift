// SimulatedChip: a TPM 2.0 that software plays (swtpm), in a folder of its own, for one test, and
// commands as bytes on its socket, for what the keychain itself never asks of one (TPM 2.0 Library,
// part 3).

#if TPM

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto

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

// MARK: - Commands

/// A command that a chip refused, or an answer that is none.
struct RawFailure: Error, Hashable {
    let code: UInt32
}

extension SimulatedChip {
    static let owner: UInt32 = 0x4000_0001

    /// Derives a storage key of the keychain's kind and leaves it in a slot. Another `unique`
    /// gives another key; none, the one that the keychain derives.
    func createPrimary(unique: [UInt8] = []) throws -> UInt32 {
        var template = Array(PublicArea.template(.storage).dropFirst(2).dropLast(4))
        template += unique.sized + [0, 0]
        let answer = try command(
            0x131, handles: [Self.owner], [0, 4, 0, 0, 0, 0] + template.sized + [0, 0, 0, 0, 0, 0])
        return answer.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Keeps an object under a number; or, if it is that number's, no longer.
    func evict(_ object: UInt32, _ number: UInt32) throws {
        _ = try command(0x120, handles: [Self.owner, object], Self.bytes(number))
    }

    func flush(_ object: UInt32) throws {
        _ = try exchange([0x80, 1] + Self.bytes(14) + Self.bytes(0x165) + Self.bytes(object))
    }

    /// Sets the owner's password.
    func setOwnerPassword(_ password: String) throws {
        _ = try command(0x129, handles: [Self.owner], Array(password.utf8).sized)
    }

    /// A command whose first handle has an empty password.
    private func command(
        _ code: UInt32, handles: [UInt32], _ parameters: [UInt8]
    ) throws -> [UInt8] {
        let password: [UInt8] = Self.bytes(0x4000_0009) + [0, 0, 0, 0, 0]
        let rest =
            Self.bytes(code) + handles.flatMap(Self.bytes)
            + Self.bytes(UInt32(password.count)) + password + parameters
        return try exchange([0x80, 2] + Self.bytes(UInt32(rest.count + 6)) + rest)
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// - Returns: What follows the header of the answer.
    private func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
        let descriptor = try LocalSocket.connected(to: socketPath)
        defer { close(descriptor) }
        guard LocalSocket.send(bytes, to: descriptor),
            let answer = LocalSocket.receive(from: descriptor), answer.count >= 10
        else { throw RawFailure(code: .max) }
        let code = answer[6..<10].reduce(0) { $0 << 8 | UInt32($1) }
        guard code == 0 else { throw RawFailure(code: code) }
        return Array(answer[10...])
    }
}

#endif
