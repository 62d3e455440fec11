// SimulatedChip: a software TPM 2.0 (swtpm) in a temporary folder, for one test. Raw commands (TPM
// 2.0 Library, part 3) change the TPM in ways that are open to other programs, for example by
// making keys persistent.

#if TPM

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto

@testable import KeychainTPM

/// The simulator could not be started. The description gives the reason.
struct NoSimulator: Error, CustomStringConvertible {
    let description: String
}

/// A simulated TPM that is stopped when this object is released.
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

    /// The socket that takes raw commands.
    var socketPath: String { folder.appending(path: "tpm").path }
    var configuration: String { "swtpm:path=\(socketPath)" }

    /// A new `TrustedPlatformModule` for this chip. It has its own connection, as another process
    /// would have.
    func module(patience: Duration = .seconds(60)) -> TrustedPlatformModule {
        TrustedPlatformModule(configuration: configuration, patience: patience)
    }

    func connection() throws -> TSSConnection {
        try TSSConnection(TSSLibrary.ofThisSystem.get(), configuration: configuration)
    }

    /// Starts the chip. If it was started before, it has the same seeds as then.
    func start() throws {
        guard let path = Self.path else {
            throw NoSimulator(
                description: "These tests need a simulated TPM: the packages swtpm and "
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
        // swtpm writes its PID file once both sockets listen.
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

    /// Stops the chip immediately, as a power failure would.
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

    /// tpm2-tss would print an error for each failure that these tests cause. TSS2_LOG prevents
    /// these messages. The library is loaded later and reads the variable then.
    private static let quiet: Void = {
        // SAFETY: both strings are copied. glibc never frees the initial environment of a process,
        // so a concurrent reader isn't disturbed.
        _ = unsafe setenv("TSS2_LOG", "all+NONE", 1)
    }()
}

/// The status of the ``KeychainFailure`` that `body` throws, or `nil` if it throws none.
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

/// A command that the chip refused, a failed socket call, or an invalid response.
struct RawFailure: Error, Hashable {
    let code: UInt32
}

extension SimulatedChip {
    static let owner: UInt32 = 0x4000_0001

    /// Derives a storage key from the keychain's template and leaves the key loaded. A different
    /// `unique` gives a different key. An empty `unique` gives the key that the keychain derives.
    func createPrimary(unique: [UInt8] = []) throws -> UInt32 {
        var template = Array(PublicArea.template(.storage).dropFirst(2).dropLast(4))
        template += unique.sized + [0, 0]
        let answer = try command(
            0x131, handles: [Self.owner], [0, 4, 0, 0, 0, 0] + template.sized + [0, 0, 0, 0, 0, 0])
        return answer.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Makes a transient object persistent under a handle, or deletes a persistent object.
    func evict(_ object: UInt32, _ number: UInt32) throws {
        _ = try command(0x120, handles: [Self.owner, object], Self.bytes(number))
    }

    func flush(_ object: UInt32) throws {
        _ = try exchange([0x80, 1] + Self.bytes(14) + Self.bytes(0x165) + Self.bytes(object))
    }

    func setOwnerPassword(_ password: String) throws {
        _ = try command(0x129, handles: [Self.owner], Array(password.utf8).sized)
    }

    /// Sends a command, with an empty password as the authorization for its first handle.
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

    /// - Returns: The response after its header.
    private func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
        let descriptor = try LocalSocket.connected(to: socketPath)
        defer { close(descriptor) }
        guard LocalSocket.send(bytes, to: descriptor),
            var answer = LocalSocket.receive(from: descriptor)
        else { throw RawFailure(code: .max) }
        // The size of the response is in its header, after the tag.
        while answer.count < 6
            || answer.count < answer[2..<6].reduce(0, { $0 << 8 | Int($1) })
        {
            guard let more = LocalSocket.receive(from: descriptor) else {
                throw RawFailure(code: .max)
            }
            answer += more
        }
        guard answer.count >= 10 else { throw RawFailure(code: .max) }
        let code = answer[6..<10].reduce(0) { $0 << 8 | UInt32($1) }
        guard code == 0 else { throw RawFailure(code: code) }
        return Array(answer[10...])
    }
}

#endif
