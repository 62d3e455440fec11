// Child: a fault-writer process, its lines, and its end.

import Foundation
import KeychainEngine
import KeychainModel
import Testing

/// A running fault-writer.
final class Child {
    private let process = Process()
    private let pipe = Pipe()
    private var rest = Data()

    init(_ arguments: String...) throws {
        process.executableURL = URL(filePath: try #require(Self.path))
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
    }

    /// Runs a shell script with file systems of its own. `$writer` is the fault-writer.
    init(mounting script: String, _ environment: [String: String]) throws {
        let writer = try #require(Self.path)
        process.executableURL = URL(filePath: "/usr/bin/env")
        // Who isn't root is root in a user namespace of its own.
        let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        process.arguments = ["unshare", "--mount"] + user + ["sh", "-ec", script]
        process.environment = ProcessInfo.processInfo.environment
            .merging(environment.merging(["writer": writer]) { $1 }) { $1 }
        process.standardOutput = pipe
        try process.run()
    }

    /// Beside the tests in the build folder.
    private static var path: String? {
        let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return [
            tests, Bundle.main.bundleURL,
            URL(filePath: FileManager.default.currentDirectoryPath)
                .appending(path: ".build/debug"),
        ]
        .map { $0.appending(path: "fault-writer").path }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The next line; nil at the end of the output.
    func line() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                return line
            }
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            rest += more
        }
    }

    /// All lines to the end.
    func lines() -> [String] {
        var all: [String] = []
        while let line = line() { all.append(line) }
        process.waitUntilExit()
        return all
    }

    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
    }

    /// Whether the process ended by itself and without an error.
    var endedWell: Bool {
        process.waitUntilExit()
        return process.terminationReason == .exit && process.terminationStatus == 0
    }
}

/// A folder that goes with the test.
final class TemporaryFolder {
    let path = NSTemporaryDirectory() + "keychain-fault-" + UUID().uuidString

    init() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file that only its owner may use, in the place of one of that name.
    func put(_ content: Data, _ name: String) throws {
        let file = path + "/" + name
        try? FileManager.default.removeItem(atPath: file)
        try #require(
            FileManager.default.createFile(
                atPath: file, contents: content, attributes: [.posixPermissions: 0o600]))
    }

    /// Takes a file out of the way, and puts it back in the place of whatever is there.
    func aside(_ file: String) throws {
        try FileManager.default.moveItem(
            atPath: path + "/" + file, toPath: path + "/aside-" + file)
    }

    func back(_ file: String) throws {
        try? FileManager.default.removeItem(atPath: path + "/" + file)
        try FileManager.default.moveItem(
            atPath: path + "/aside-" + file, toPath: path + "/" + file)
    }

    /// All files with their bytes, without those that locks are held on and shared memory.
    func contents() throws -> [String: Data] {
        var all: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where !["in-use", "lock", "keychain.db-shm"].contains(name) {
            all[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        // A log without content is none: that of a damaged database stays when it is closed.
        if all["keychain.db-wal"]?.isEmpty == true { all["keychain.db-wal"] = nil }
        return all
    }
}

let caller = AccessGroups(["default"])

func query(_ account: String) -> ItemQuery {
    ItemQuery(
        itemClass: .genericPassword,
        attributes: [.service: .string("fault"), .account: .string(account)])
}

extension KeychainEngine {
    /// The secret of an account; nil when there is none.
    func load(_ account: String) throws(KeychainFailure) -> Data? {
        do {
            return try find(query(account), Retrieval(includesData: true), as: caller).first?.data
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }

    func save(_ account: String, _ data: Data) throws(KeychainFailure) {
        _ = try add(
            NewItem(
                itemClass: .genericPassword, attributes: query(account).attributes,
                protection: .afterFirstUnlock, data: data), as: caller)
    }
}

/// The status that `body` fails with, and its text.
func failure(_ body: () throws -> Void) -> KeychainFailure? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeychainFailure
    }
}
