// Writers: tasks of fault-writer, most of which change a keychain again and again. These tasks
// acknowledge each change on standard output after its commit, except changes of the item that
// all processes of a crowd write to.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Synchronization

let caller = AccessGroups(["default"])

func key(_ account: String) -> Attributes {
    [.service: .string("fault"), .account: .string(account)]
}

func query(_ account: String) -> ItemQuery {
    ItemQuery(itemClass: .genericPassword, attributes: key(account))
}

func item(_ account: String, _ data: Data) -> NewItem {
    NewItem(
        itemClass: .genericPassword,
        attributes: key(account).merging([.label: .string("label of " + account)]) { $1 },
        protection: .afterFirstUnlock, data: data)
}

/// Writes a line without buffering, before the next change begins.
func acknowledge(_ line: String) {
    // If the line can't be written, the change is not acknowledged.
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}

/// The step with this number in a sequence that both the writer and the test know: an account and
/// its new value. The value is `nil` if the step deletes the account's item.
func step(_ number: Int) -> (account: String, value: Data?) {
    let account = "account \(number * 7 % 16)"
    if number % 5 == 4 { return (account, nil) }
    // Sizes range from a few bytes to several pages, so that overflow chains are created and
    // deleted.
    let padding = Data(repeating: UInt8(truncatingIfNeeded: number), count: number * 131 % 9000)
    return (account, Data("value \(number)\n".utf8) + padding)
}

/// The options for tests. If a folder is given, the engine notes there that it has verified the
/// keychain. Such a note is valid until the next boot.
func options(rememberingIn folder: String?) -> EngineOptions {
    var options = EngineOptions.testing
    options.freshness = folder.map { FreshnessOptions(folder: $0) }
    return options
}

struct WritingLoop {
    let directory: String
    let from: Int
    var runtime: String?

    func run() throws {
        let engine = try KeychainEngine.open(
            directory: directory, options: options(rememberingIn: runtime))
        var number = from
        while true {
            try apply(number, to: engine)
            acknowledge("\(number)")
            number += 1
        }
    }
}

/// Carries out a step, with `prefix` before the account's name.
private func apply(
    _ number: Int, to engine: KeychainEngine, prefix: String = ""
) throws(KeychainFailure) {
    let (name, value) = step(number)
    let account = prefix + name
    do {
        guard let value else {
            try engine.perform(DeleteItems(query(account), tombstones: .automatic), as: caller)
            return
        }
        try engine.perform(UpdateItems(query(account), ItemChanges(data: value)), as: caller)
    } catch {
        guard error.status == .itemNotFound else { throw error }
        // Without the item, a deletion has nothing to do, and an update becomes an addition.
        if let value { _ = try engine.perform(AddItem(item(account, value)), as: caller) }
    }
}

/// Several threads of one process, each with its own accounts, whose writes share commits.
struct WritingThreads {
    let directory: String
    /// The first step of each thread.
    let from: [Int]

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        for (thread, first) in from.enumerated() {
            Thread.detachNewThread {
                var number = first
                while true {
                    do {
                        try apply(number, to: engine, prefix: "\(thread) ")
                    } catch {
                        acknowledge("failed: \(error)")
                        exit(1)
                    }
                    acknowledge("\(thread) \(number)")
                    number += 1
                }
            }
        }
        // Waits until the process is killed.
        while true { pause() }
    }
}

/// One of many processes that write to a keychain, which may not exist yet when they start.
struct Crowd {
    let directory: String
    let worker: Int
    var runtime: String?

    func run() throws {
        let engine = try KeychainEngine.open(
            directory: directory, options: options(rememberingIn: runtime))
        if runtime != nil {
            // The test lets the processes write once all of them have opened the keychain.
            acknowledge("opened")
            _ = readLine()
        }
        for number in 0..<40 {
            let account = "worker \(worker) item \(number)"
            _ = try engine.perform(AddItem(item(account, Data(account.utf8))), as: caller)
            acknowledge(account)
            try saveShared(Data("from worker \(worker)".utf8), in: engine)
        }
        engine.close()
    }
}

/// Adds the item that all workers write to, or updates the item if it exists.
private func saveShared(_ data: Data, in engine: KeychainEngine) throws(KeychainFailure) {
    do {
        _ = try engine.perform(AddItem(item("shared", data)), as: caller)
    } catch {
        guard error.status == .duplicateItem else { throw error }
        try engine.perform(UpdateItems(query("shared"), ItemChanges(data: data)), as: caller)
    }
}

/// Adds items until an addition fails, with a maximum file size of `limit` bytes (0: no limit).
struct Filling {
    let directory: String
    let limit: Int

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        if limit > 0 {
            signal(SIGXFSZ, SIG_IGN)
            var bounds = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
            // SAFETY: the structure is read within the call.
            guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bounds) == 0 else {
                throw KeychainFailure(.ioError, "The file size limit can't be set.")
            }
        }
        for number in 0..<100_000 {
            let account = "fill \(number)"
            do {
                _ = try engine.perform(
                    AddItem(item(account, Data(repeating: 7, count: 3000))), as: caller)
            } catch {
                acknowledge("full \(error.status.rawValue)")
                exit(0)
            }
            acknowledge(account)
        }
    }
}

/// Runs a recovery, and kills the process after the given number of system calls that may create,
/// rename or remove a file or a folder.
struct KilledRecovery {
    let directory: String
    let callNumber: Int

    func run() throws {
        let calls = Mutex(0)
        let last = callNumber
        let report = try FileProbe.$current.withValue(
            {
                let number = calls.withLock { count in
                    count += 1
                    return count
                }
                if number == last { kill(getpid(), SIGKILL) }
            },
            operation: { try KeychainEngine.recover(directory: directory, options: .testing) })
        acknowledge("recovered \(report.itemCount) \(calls.withLock { $0 })")
    }
}

/// Leaves a keychain whose last commits, an addition, a change and a deletion, are only in the log.
struct LeftChanges {
    let directory: String

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        for number in 0..<4 {
            let size = number == 2 ? 9000 : 10
            _ = try engine.perform(
                AddItem(item("item \(number)", Data(repeating: UInt8(number), count: size))),
                as: caller)
        }
        try engine.store.emptyLog()
        _ = try engine.perform(AddItem(item("item 4", Data("value 4".utf8))), as: caller)
        try engine.perform(
            UpdateItems(query("item 0"), ItemChanges(data: Data("new".utf8))), as: caller)
        try engine.perform(DeleteItems(query("item 1"), tombstones: .automatic), as: caller)
        let generation = try engine.store.header().generation
        acknowledge("\(generation)")
        kill(getpid(), SIGKILL)
    }
}

/// Leaves a keychain whose last commit is only in the log, and kills the process.
struct LeftLog {
    let directory: String

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        for number in 0..<3 {
            _ = try engine.perform(
                AddItem(item("item \(number)", Data("value \(number)".utf8))), as: caller)
        }
        try engine.store.emptyLog()
        _ = try engine.perform(AddItem(item("item 3", Data("value 3".utf8))), as: caller)
        acknowledge("ready")
        kill(getpid(), SIGKILL)
    }
}
