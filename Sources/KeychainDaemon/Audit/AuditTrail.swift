// AuditTrail: the service's account of every request: who asked for what, and what came of it.
//   (1) A request that gives or changes anything is carried out only if there is room for its
//       record. What it reads leaves the service after the record is in the file.
//   (2) A thread of its own synchronizes what was written to the disk, within a second.
//   (3) Where the audit can't be written, each later request tries anew. What went without a record
//       meanwhile is counted, and the count is the first record afterwards.
//   (4) What only locks, or tells of the keychain as a whole, goes on without a record: a full disk
//       never keeps a keychain unlocked.

import Dispatch
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization

final class AuditTrail: Sendable {
    private struct State {
        var writer: AuditWriter?
        /// Requests that have room and no record yet.
        var underWay = 0
        var unrecordedCount = 0
        var isStarted = false
        var isFailing = false
        /// Whether something was written that the disk may not have.
        var isUnsynchronized = false
    }

    private let folder: AuditFolder
    private let limits: AuditLimits
    private let log: AuditLog
    private let disk: AuditDisk
    private let state = Mutex(State())
    private let written = DispatchSemaphore(value: 0)
    private let ending = DispatchSemaphore(value: 0)
    private let threadEnd = DispatchSemaphore(value: 0)

    /// How long what was written waits for more before the disk gets it.
    private static let patience: Duration = .milliseconds(500)

    /// The audit in a folder, an absolute path. It is opened, or begun, now; where that fails, with
    /// the first request.
    init(
        folder: String, limits: AuditLimits, log: AuditLog, disk: AuditDisk = AuditDisk()
    ) throws(ServiceFailure) {
        self.folder = AuditFolder(path: folder)
        self.limits = limits
        self.log = log
        self.disk = disk
        state.withLock { state in
            do throws(KeychainFailure) {
                try open(&state)
            } catch {
                fail(error, &state)
            }
        }
        guard Threads.start({ [self] in synchronize() }) else {
            throw ServiceFailure("Can't write the audit: no thread can be started.")
        }
    }

    /// Writes that the service ended. It is called once, when no request is under way.
    func stop() {
        state.withLock { state in
            try? append(.end, &state)
            if let position = state.writer?.position { note("audit: ended", position) }
        }
        ending.signal()
        written.signal()
        threadEnd.wait()
    }

    // MARK: Requests

    /// Takes room for the record of a request that is about to be carried out.
    ///
    /// - Throws: `diskFull` and others, where it couldn't be recorded.
    func begin() throws(KeychainFailure) {
        try state.withLock { state throws(KeychainFailure) in
            do throws(KeychainFailure) {
                if state.writer == nil { try open(&state) }
                if let number = try state.writer?.takeRoom(for: state.underWay + 1) {
                    try append(.prune, result: Int64(clamping: number), &state)
                    log.note("audit: records up to \(number) were removed with their file")
                }
                state.underWay += 1
            } catch {
                fail(error, &state)
                throw KeychainFailure(
                    error.status,
                    "The keychain service does nothing that its audit has no room for. "
                        + error.reason, cause: error.cause)
            }
        }
    }

    /// Writes the record of a request.
    ///
    /// - Parameters:
    ///   - record: What is known of it but its number, its moment and its items.
    ///   - items: Which it gave, changed or deleted.
    ///   - hasRoom: Whether ``begin()`` was called for it.
    /// - Throws: Where it has no record. It is counted.
    func end(
        _ record: AuditRecord, items: [ItemReference], hasRoom: Bool
    ) throws(KeychainFailure) {
        try state.withLock { state throws(KeychainFailure) in
            if hasRoom { state.underWay -= 1 }
            do throws(KeychainFailure) {
                if state.writer == nil { try open(&state) }
                guard let labels = state.writer?.labels else { return }
                var record = AuditRecord(
                    user: record.user, process: record.process, identity: record.identity,
                    operation: record.operation, itemClass: record.itemClass,
                    result: record.result, items: items.map { labels.label(of: $0) })
                record.moment = Self.now
                try state.writer?.append(record)
            } catch {
                state.unrecordedCount += 1
                fail(error, &state)
                throw error
            }
            noteWritten(&state)
        }
    }

    // MARK: The file

    private func open(_ state: inout State) throws(KeychainFailure) {
        var (writer, opening) = try AuditWriter.open(folder, limits)
        _ = try writer.takeRoom(for: state.underWay + 1)
        state.writer = writer
        if opening.hasGap { try append(.gap, &state) }
        if !state.isStarted {
            try append(.start, result: Int64(opening.removedByteCount), &state)
        }
        if state.isStarted || state.unrecordedCount > 0 {
            try append(.resume, result: Int64(state.unrecordedCount), &state)
        }
        tell(opening, state)
        state.unrecordedCount = 0
        state.isStarted = true
        state.isFailing = false
    }

    private func tell(_ opening: AuditWriter.Opening, _ state: State) {
        if let problem = opening.problem {
            log.problem("the audit before can't be gone on with", reason: problem)
        }
        if opening.hasGap {
            log.problem(
                "records of the audit are missing",
                reason: "The file is shorter than its anchor says.")
        }
        if opening.removedByteCount > 0 {
            log.note(
                "audit: \(opening.removedByteCount) bytes of an unfinished record were removed")
        }
        if opening.isNew {
            log.note(
                "audit: a new one was begun; `keychainctl audit --take-key` takes its "
                    + "verification key away, and until then it proves nothing")
        }
        if let position = state.writer?.position { note("audit: goes on", position) }
    }

    /// What is in the log as well can't be put back unnoticed.
    private func note(_ what: String, _ position: AuditPosition) {
        log.note("\(what), \(position.next - 1):\(position.head.short)")
    }

    private func append(
        _ event: AuditEvent, result: Int64 = 0, _ state: inout State
    ) throws(KeychainFailure) {
        var record = AuditRecord(
            user: geteuid(), process: getpid(), identity: "", operation: event.rawValue,
            result: result)
        record.moment = Self.now
        try state.writer?.append(record)
        noteWritten(&state)
    }

    private func fail(_ failure: KeychainFailure, _ state: inout State) {
        // Said once, not for each request.
        if !state.isFailing { log.problem("the audit can't be written", reason: failure.reason) }
        state.isFailing = true
        state.writer = nil
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    // MARK: The disk

    private func noteWritten(_ state: inout State) {
        if !state.isUnsynchronized { written.signal() }
        state.isUnsynchronized = true
    }

    /// The thread.
    private func synchronize() {
        var hasEnded = false
        while !hasEnded {
            written.wait()
            hasEnded = disk.rest(Self.patience, ending)
            let writer = state.withLock { state in
                state.isUnsynchronized = false
                return state.writer
            }
            guard let writer else { continue }
            // The records first: an anchor that is ahead of them accuses whoever kept them.
            guard disk.synchronize(writer.file.number), disk.synchronize(writer.anchor.number)
            else {
                let failure = AuditFolder.failure("synchronize the audit")
                state.withLock { fail(failure, &$0) }
                continue
            }
        }
        threadEnd.signal()
    }
}

/// What the thread that synchronizes asks of the system; a test hands in its own.
struct AuditDisk: Sendable {
    /// Waits for a time, or until the end is signalled.
    /// - Returns: Whether it is the end.
    var rest: @Sendable (_ time: Duration, _ end: DispatchSemaphore) -> Bool = { time, end in
        end.wait(timeout: .now() + time / .seconds(1)) == .success
    }
    /// Returns when the disk has what was written to a file. False: it failed, and `errno` says why.
    var synchronize: @Sendable (_ file: Int32) -> Bool = { fdatasync($0) == 0 }
}

/// Whether a request is carried out where the audit can't be written.
enum AuditRule: Hashable, Sendable {
    /// It is: nothing of an item is given or changed.
    case free
    /// It isn't. What it changed before that came out is answered.
    case changes
    /// It isn't, and what it read before that came out is withheld.
    case reads

    init(_ code: RequestCode) {
        self =
            switch code {
            case .lock, .lockAll, .status, .hasPasscode, .hasSecureEnclave: .free
            default: code.isRead ? .reads : .changes
            }
    }
}
