// AuditTrail: the service's audit, with a record of each request: the caller, the operation and the
// result.
//   (1) A request that reads or changes items is carried out only if there is room for its record.
//       The result of a read leaves the service only after the request's record has been written
//       to the file.
//   (2) A separate thread synchronizes the file to disk within a second. If that fails, the failure
//       is logged, and the file is opened anew and synchronized with the next record.
//   (3) If the audit can't be written, each later request tries again. Requests without a record
//       are counted, and the next record that can be written states their number.
//   (4) Some requests are carried out even if no record can be written: those that only lock, that
//       only ask for the status or the statistics, that only ask whether there is a passcode or
//       hardware for keys or whether a grant is still accepted, and those that only concern the
//       connection. A full disk therefore never prevents locking.

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
        var unrecordedCount = 0
        var isStarted = false
        var isFailing = false
        /// Whether data was written that may not be on the disk yet.
        var isUnsynchronized = false
    }

    private let folder: AuditFolder
    private let limits: AuditLimits
    private let log: AuditLog
    private let disk: AuditDisk
    private let state = Mutex(State())
    /// The number of requests that have reserved room and have no record yet. It grows only under
    /// the lock of `state`.
    private let underWay = Atomic(0)
    private let written = DispatchSemaphore(value: 0)
    private let ending = DispatchSemaphore(value: 0)
    private let threadEnd = DispatchSemaphore(value: 0)

    /// How long to wait for further records before the file is synchronized to disk.
    private static let patience: Duration = .milliseconds(500)

    /// Opens or creates the audit in a folder with an absolute path. If that fails, the first
    /// request tries again.
    /// - Throws: If no thread can be started.
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

    /// Writes a record of the service's end. It is called once, when no request is pending.
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

    /// Reserves room for the record of a request that is about to be carried out.
    ///
    /// - Throws: `diskFull` or another error if the request couldn't be recorded.
    func begin() throws(KeychainFailure) {
        try state.withLock { state throws(KeychainFailure) in
            do throws(KeychainFailure) {
                if state.writer == nil { try open(&state) }
                let count = underWay.load(ordering: .relaxed) + 1
                if let number = try state.writer?.takeRoom(for: count) {
                    try appendPrune(upTo: number, &state)
                }
                underWay.add(1, ordering: .relaxed)
            } catch {
                fail(error, &state)
                throw KeychainFailure(
                    error.status,
                    "The keychain service doesn't carry out requests that it can't record in its "
                        + "audit. "
                        + error.reason, cause: error.cause)
            }
        }
    }

    /// Reserves room for the record of a request, like ``begin()``, but only if the disk space for
    /// it is already reserved and no other thread holds the lock.
    /// - Returns: `false` if no room was reserved.
    func beginAtOnce() -> Bool {
        state.withLockIfAvailable { state in
            let count = underWay.load(ordering: .relaxed) + 1
            guard let writer = state.writer, writer.hasRoom(for: count) else { return false }
            underWay.add(1, ordering: .relaxed)
            return true
        } ?? false
    }

    /// Gives back the room of a request that wasn't carried out.
    func cancel() { underWay.subtract(1, ordering: .relaxed) }

    /// Writes the record of a request for which ``beginAtOnce()`` reserved room, but only if no
    /// other thread holds the lock.
    ///
    /// - Parameters:
    ///   - record: The record without number, time and items.
    ///   - items: The items that the request returned.
    /// - Returns: `false` if no record was written. The room is still reserved then.
    func endAtOnce(_ record: AuditRecord, items: [ItemReference]) -> Bool {
        state.withLockIfAvailable { state in
            guard state.writer != nil else { return false }
            do throws(KeychainFailure) {
                try append(record, items, &state)
                underWay.subtract(1, ordering: .relaxed)
                return true
            } catch {
                fail(error, &state)
                return false
            }
        } ?? false
    }

    /// Writes the record of a request.
    ///
    /// - Parameters:
    ///   - record: The record without number, time and items.
    ///   - items: The items that the request returned, changed or deleted.
    ///   - hasRoom: Whether ``begin()`` was called for the request.
    /// - Throws: If the record can't be written. The request is then counted as unrecorded.
    func end(
        _ record: AuditRecord, items: [ItemReference], hasRoom: Bool
    ) throws(KeychainFailure) {
        try state.withLock { state throws(KeychainFailure) in
            if hasRoom { underWay.subtract(1, ordering: .relaxed) }
            do throws(KeychainFailure) {
                if state.writer == nil { try open(&state) }
                try append(record, items, &state)
            } catch {
                state.unrecordedCount += 1
                fail(error, &state)
                throw error
            }
        }
    }

    /// Adds the time and the labels of items to a record, and writes it.
    private func append(
        _ record: AuditRecord, _ items: [ItemReference], _ state: inout State
    ) throws(KeychainFailure) {
        guard let labels = state.writer?.labels else { return }
        var record = AuditRecord(
            user: record.user, process: record.process, identity: record.identity,
            operation: record.operation, itemClass: record.itemClass,
            result: record.result, items: items.map { labels.label(of: $0) })
        record.moment = Self.now
        try state.writer?.append(record)
        noteWritten(&state)
    }

    // MARK: The file

    private func open(_ state: inout State) throws(KeychainFailure) {
        var (writer, opening) = try AuditWriter.open(folder, limits)
        let pruned = try writer.takeRoom(for: underWay.load(ordering: .relaxed) + 1)
        state.writer = writer
        if let pruned { try appendPrune(upTo: pruned, &state) }
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

    private func appendPrune(
        upTo number: UInt64, _ state: inout State
    ) throws(KeychainFailure) {
        // The record comes first: if the service ends in between, no file is missing without a
        // record that says so.
        try append(.prune, result: Int64(clamping: number), &state)
        try state.writer?.prune(upTo: number)
        log.note("audit: records up to \(number) were removed with their file")
    }

    private func tell(_ opening: AuditWriter.Opening, _ state: State) {
        if let problem = opening.problem {
            log.problem("the previous audit can't be continued", reason: problem)
        }
        if opening.hasGap {
            log.problem(
                "records of the audit are missing",
                reason: "A file is missing or shorter than the audit's anchor says.")
        }
        if opening.removedByteCount > 0 {
            log.note(
                "audit: \(opening.removedByteCount) bytes of an unfinished record were removed")
        }
        if opening.isNew {
            log.note(
                "audit: a new audit was created; it proves nothing until `keychainctl audit "
                    + "--take-key` has removed its verification key from this machine")
        }
        if let position = state.writer?.position { note("audit: continued", position) }
    }

    /// Logs the position. A reader who compares it with the audit can see whether an older audit
    /// was put back.
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
        // Logged once, not for each request.
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

    /// The body of the synchronizing thread.
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
            // The records are synchronized first. After a crash, an anchor that is ahead of the
            // records would look as if records had been removed.
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

/// The system calls of the synchronizing thread. Tests replace them.
struct AuditDisk: Sendable {
    /// Waits for a time or until the end is signaled.
    /// - Returns: `true` if the end was signaled.
    var rest: @Sendable (_ time: Duration, _ end: DispatchSemaphore) -> Bool = { time, end in
        end.wait(timeout: .now() + time / .seconds(1)) == .success
    }
    /// Synchronizes a file to disk. Returns `false` with `errno` set if that failed.
    var synchronize: @Sendable (_ file: Int32) -> Bool = { fdatasync($0) == 0 }
}

/// What happens to a request if the audit can't be written.
enum AuditRule: Hashable, Sendable {
    /// The request is carried out, since it neither returns nor changes items.
    case free
    /// The request is not carried out. If its record can't be written after the change was made,
    /// the change is still reported as successful.
    case changes
    /// The request is not carried out. If its record can't be written after items were read, the
    /// result is withheld.
    case reads

    init(_ code: RequestCode) {
        self =
            switch code {
            case .lock, .lockAll, .status, .acceptsGrant, .hasPasscode, .hasSecureEnclave: .free
            default: code.isRead ? .reads : .changes
            }
    }
}
