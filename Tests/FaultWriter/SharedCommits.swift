// SharedCommits: writes of several threads in one commit for which there is no space on the disk.

import Dispatch
import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Synchronization

/// Lets eight threads write while the disk is full, and again when there is space. Prints the
/// status of each write.
struct FullDiskOfThreads {
    let directory: String
    private static let threadCount = 8

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        _ = try engine.perform(AddItem(item("before", Data([1]))), as: caller)
        // Empties the log, so that the next commit needs space for all of its pages.
        try engine.store.emptyLog()
        let ballast = directory + "/ballast"
        try fillDisk(ballast)
        report(try additions("full", to: engine))
        try FileManager.default.removeItem(atPath: ballast)
        report(try additions("free", to: engine))
        engine.close()
        let again = try KeychainEngine.open(directory: directory, options: .testing)
        let found = try again.perform(
            FindItems(ItemQuery(itemClass: .genericPassword), Retrieval(limit: nil)), as: caller)
        let check = try again.check(settingAside: false)
        again.close()
        acknowledge("\(found.count) \(check.isSound ? "sound" : "damaged")")
    }

    /// Writes until the disk is full, at the end byte by byte.
    private func fillDisk(_ path: String) throws {
        // SAFETY: the path is copied within the call.
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else {
            throw KeychainFailure(.ioError, "The ballast file can't be created.")
        }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while !bytes.isEmpty {
            // SAFETY: the array lives for the call.
            let written = unsafe bytes.withUnsafeBytes {
                unsafe write(descriptor, $0.baseAddress, $0.count)
            }
            if written <= 0 { bytes.removeLast((bytes.count + 1) / 2) }
        }
        close(descriptor)
    }

    /// Makes additions that share one commit, because all are queued before it.
    /// - Returns: For each addition, the status of its failure, or `nil`.
    private func additions(_ name: String, to engine: KeychainEngine) throws -> [Status?] {
        let statuses = Mutex([Status?](repeating: nil, count: Self.threadCount))
        let ended = DispatchGroup()
        let store = engine.store
        let generation = try store.header().keybagGeneration
        // This write waits until the additions are queued, and is part of their commit. If the
        // commit fails, so does this write.
        _ = try? store.write(keybagGeneration: generation) { _ in
            for thread in 0..<Self.threadCount {
                ended.enter()
                Thread.detachNewThread {
                    do {
                        _ = try engine.perform(
                            AddItem(item("\(name) \(thread)", Data(repeating: 7, count: 3000))),
                            as: caller)
                    } catch {
                        let status = (error as? KeychainFailure)?.status ?? .internalError
                        statuses.withLock { $0[thread] = status }
                    }
                    ended.leave()
                }
            }
            while store.waitingWriteCount < Self.threadCount { sched_yield() }
        }
        ended.wait()
        return statuses.withLock { $0 }
    }

    private func report(_ statuses: [Status?]) {
        acknowledge(statuses.map { "\($0?.rawValue ?? 0)" }.joined(separator: " "))
    }
}
