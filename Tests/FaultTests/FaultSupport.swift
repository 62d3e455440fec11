// FaultSupport: the shared code of the fault tests, for processes, folders and requests to the
// engine.

import CKeychainSQLite
import Foundation
import KeychainEngine
import KeychainCore
import TestPrograms
import Testing

/// A running fault-writer process.
func faultWriter(_ arguments: String...) throws -> TestProgram {
    try faultWriter(arguments)
}

func faultWriter(_ arguments: [String]) throws -> TestProgram {
    try TestProgram("fault-writer", arguments)
}

/// Runs a shell script in a separate mount namespace. `$writer` is the path of the fault-writer.
func mountingScript(_ script: String, _ environment: [String: String]) throws -> TestProgram {
    // A user who isn't root becomes root in a user namespace.
    let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
    let writer = try #require(TestProgram.path(of: "fault-writer"))
    return try TestProgram(
        path: "/usr/bin/env", ["unshare", "--mount"] + user + ["sh", "-ec", script],
        environment: environment.merging(["writer": writer]) { $1 })
}

/// The seed of a test's random numbers: the environment variable `SEED`, or else a random number.
/// Failures of the test name the seed.
func randomSeed() -> UInt64 {
    UInt64(ProcessInfo.processInfo.environment["SEED"] ?? "") ?? UInt64.random(in: 0...UInt64.max)
}

/// Executes SQL without updating the tags of the changed pages, as another program would.
func execute(_ sql: String, onDatabaseAt path: String) throws {
    var connection: OpaquePointer?
    // SAFETY: only this function uses the handle, and closes it before it returns.
    defer { unsafe sqlite3_close(connection) }
    try #require(unsafe sqlite3_open(path, &connection) == SQLITE_OK)
    try #require(unsafe sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK)
}

/// A folder that is deleted after the test.
final class TemporaryFolder {
    let path = NSTemporaryDirectory() + "keychain-fault-" + UUID().uuidString

    init() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file that only its owner can access, replacing one of the same name.
    func put(_ content: Data, _ name: String) throws {
        let file = path + "/" + name
        try? FileManager.default.removeItem(atPath: file)
        try #require(
            FileManager.default.createFile(
                atPath: file, contents: content, attributes: [.posixPermissions: 0o600]))
    }

    /// Moves a file away. ``back(_:)`` moves it back, replacing any file in its place.
    func aside(_ file: String) throws {
        try FileManager.default.moveItem(
            atPath: path + "/" + file, toPath: path + "/aside-" + file)
    }

    func back(_ file: String) throws {
        try? FileManager.default.removeItem(atPath: path + "/" + file)
        try FileManager.default.moveItem(
            atPath: path + "/aside-" + file, toPath: path + "/" + file)
    }

    /// All files with their content, except lock files and shared memory.
    func contents() throws -> [String: Data] {
        var all: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where !["in-use", "lock", "keychain.db-shm"].contains(name) {
            all[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        // An empty log doesn't count: closing a damaged database doesn't delete its log.
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
    /// The secret of an account, or `nil` if there is none.
    func load(_ account: String) throws(KeychainFailure) -> Data? {
        do {
            return try perform(
                FindItems(query(account), Retrieval(includesData: true, includesAttributes: false)),
                as: caller
            ).first?.data
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }

    func save(_ account: String, _ data: Data) throws(KeychainFailure) {
        try perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: query(account).attributes,
                    protection: .afterFirstUnlock, data: data)), as: caller)
    }
}

/// The failure that `body` throws, or `nil` if it throws none. An error of another type is recorded
/// as an issue.
func failure(_ body: () throws -> Void) -> KeychainFailure? {
    do {
        try body()
    } catch let failure as KeychainFailure {
        return failure
    } catch {
        Issue.record(error)
    }
    return nil
}
