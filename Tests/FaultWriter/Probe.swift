// Probe: carries out operations on a keychain in an unusual environment (a read-only folder, closed
// standard streams, a full disk, two paths to one folder), and prints their results.

import Foundation
import KeychainEngine
import KeychainCore

struct Probe {
    let directory: String

    /// Creates a keychain with one item and closes it.
    func prepare() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        _ = try engine.perform(AddItem(item("kept", Data("value".utf8))), as: caller)
        engine.close()
        acknowledge("made")
    }

    /// Opens the keychain, loads its item, and saves the item. Prints a line for each operation:
    /// its name, its status and, if the operation failed, the reason.
    func run() {
        guard
            let engine = attempt(
                "open",
                { () throws(KeychainFailure) in
                    try KeychainEngine.open(directory: directory, options: .testing)
                })
        else { return }
        defer { engine.close() }
        let loaded = attempt("load") { () throws(KeychainFailure) in
            try engine.perform(
                FindItems(query("kept"), Retrieval(includesData: true, includesAttributes: false)),
                as: caller
            )
            .first?.data
        }
        if let loaded, loaded != Data("value".utf8) { acknowledge("wrong data") }
        _ = attempt("save") { () throws(KeychainFailure) in
            try engine.perform(
                UpdateItems(query("kept"), ItemChanges(data: Data("value".utf8))), as: caller)
        }
    }

    /// Prints the number of items, or the reason why counting failed.
    func count() {
        do throws(KeychainFailure) {
            let engine = try KeychainEngine.open(directory: directory, options: .testing)
            defer { engine.close() }
            try count(engine)
        } catch {
            acknowledge("count \(error.status.rawValue) \(error.reason)")
        }
    }

    private func count(_ engine: KeychainEngine) throws(KeychainFailure) {
        let found = try engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword), Retrieval(limit: nil, includesData: true)),
            as: caller)
        acknowledge("count \(found.count)")
    }

    /// Counts the items, adds one with a second engine through a different path to the same folder,
    /// and counts twice more: while that engine is open, and after it was closed.
    func countThreeTimes(writingTo other: String) throws {
        let reader = try KeychainEngine.open(directory: directory, options: .testing)
        defer { reader.close() }
        try count(reader)
        let writer = try KeychainEngine.open(directory: other, options: .testing)
        _ = try writer.perform(AddItem(item("second", Data("value".utf8))), as: caller)
        try count(reader)
        writer.close()
        try count(reader)
    }

    /// Closes the standard streams, opens a keychain, and prints a secret after each of 100
    /// additions. If a file of the keychain had the descriptor number of a standard stream, the
    /// secret would be written to that file.
    func printToClosedStreams() throws {
        for descriptor in STDIN_FILENO...STDERR_FILENO { close(descriptor) }
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        for number in 0..<100 {
            _ = try engine.perform(AddItem(item("kept \(number)", Data("value".utf8))), as: caller)
            print("a secret to look for")
            fflush(nil)
        }
        engine.close()
    }

    private func attempt<Result>(
        _ operation: String, _ body: () throws(KeychainFailure) -> Result
    ) -> Result? {
        do {
            let result = try body()
            acknowledge("\(operation) 0")
            return result
        } catch {
            acknowledge("\(operation) \(error.status.rawValue) \(error.reason)")
            return nil
        }
    }
}

/// Replaces root's rights, which override all permissions, with those of a user without files.
func becomeNobody() throws {
    guard geteuid() == 0 else { return }
    guard setgroups(0, nil) == 0 else {
        throw KeychainFailure(.internalError, "can't leave root's groups")
    }
    guard setgid(65_534) == 0, setuid(65_534) == 0 else {
        throw KeychainFailure(.internalError, "can't become nobody")
    }
}

/// Fills the disk and verifies that acknowledged writes are kept, and that writing works again when
/// there is space.
struct FullDisk {
    let directory: String

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        let ballast = directory + "/ballast"
        guard
            FileManager.default.createFile(atPath: ballast, contents: Data(count: 256 << 10))
        else { throw KeychainFailure(.ioError, "The ballast file can't be created.") }
        var accounts: [String] = []
        var status: Status?
        while status == nil, accounts.count < 10_000 {
            let account = "fill \(accounts.count)"
            do {
                _ = try engine.perform(
                    AddItem(item(account, Data(repeating: 7, count: 3000))), as: caller)
                accounts.append(account)
            } catch {
                status = error.status
            }
        }
        try verify(accounts, engine)
        try FileManager.default.removeItem(atPath: ballast)
        _ = try engine.perform(AddItem(item("afterwards", Data([1]))), as: caller)
        engine.close()
        let again = try KeychainEngine.open(directory: directory, options: .testing)
        try verify(accounts, again)
        let isSound = try again.check().isSound
        again.close()
        acknowledge("\(accounts.count) \(status?.rawValue ?? 0) \(isSound ? "sound" : "damaged")")
    }

    private func verify(_ accounts: [String], _ engine: KeychainEngine) throws {
        for account in accounts {
            let found = try engine.perform(
                FindItems(query(account), Retrieval(includesData: true, includesAttributes: false)),
                as: caller)
            guard found.first?.data == Data(repeating: 7, count: 3000) else {
                throw KeychainFailure(.internalError, "\(account) is lost")
            }
        }
    }
}
