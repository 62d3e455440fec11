// What the fault tests share: the processes they start, folders, and short ways to ask an engine.

import CKeychainSQLite
import Foundation
import KeychainEngine
import KeychainCore
import TestPrograms
import Testing

/// A running fault-writer.
func faultWriter(_ arguments: String...) throws -> TestProgram {
    try faultWriter(arguments)
}

func faultWriter(_ arguments: [String]) throws -> TestProgram {
    try TestProgram("fault-writer", arguments)
}

/// A shell script with file systems of its own. `$writer` is the fault-writer.
func mountingScript(_ script: String, _ environment: [String: String]) throws -> TestProgram {
    // Who isn't root is root in a user namespace of its own.
    let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
    let writer = try #require(TestProgram.path(of: "fault-writer"))
    return try TestProgram(
        path: "/usr/bin/env", ["unshare", "--mount"] + user + ["sh", "-ec", script],
        environment: environment.merging(["writer": writer]) { $1 })
}

/// Runs SQL as another program does that knows nothing of the keychain's page checksums.
func execute(_ sql: String, onDatabaseAt path: String) throws {
    var connection: OpaquePointer?
    // SAFETY: the handle is used here alone and closed before it goes.
    defer { unsafe sqlite3_close(connection) }
    try #require(unsafe sqlite3_open(path, &connection) == SQLITE_OK)
    try #require(unsafe sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK)
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

/// The status that `body` fails with, and its text.
func failure(_ body: () throws -> Void) -> KeychainFailure? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeychainFailure
    }
}
