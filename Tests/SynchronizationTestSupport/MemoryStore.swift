// MemoryStore: a server in memory, which a test can make fail, lie or lose records.

package import KeychainRelay
import Synchronization

package final class MemoryStore: RecordStore {
    package struct Unreachable: Error {
        package init() {}
    }

    package init() {}

    fileprivate struct State {
        package var records: [String: [UInt8]] = [:]
        /// All values that requests have ever stored, including deleted and replaced ones.
        package var everything: [[UInt8]] = []
        var isUnreachable = false
        var isReadOnly = false
        /// Whether the record with a key is omitted when records are read.
        var isHidden: @Sendable (String) -> Bool = { _ in false }
        /// Returns the value that a reader gets for a record.
        var altered: @Sendable (StoredRecord) -> [UInt8] = { $0.value }
        /// How many of the next creations are carried out, but throw ``Unreachable``.
        var unansweredCount = 0
        var watchers: [Int: AsyncThrowingStream<String, any Error>.Continuation] = [:]
        var nextWatcher = 0
    }

    private let state = Mutex(State())

    package var records: [String: [UInt8]] {
        get { state.withLock { $0.records } }
        set { state.withLock { $0.records = newValue } }
    }

    package var everything: [[UInt8]] { state.withLock { $0.everything } }

    package func setUnreachable(_ isUnreachable: Bool) {
        state.withLock { $0.isUnreachable = isUnreachable }
    }

    /// Sets whether the server refuses to store anything, as a server without free space does.
    package func setReadOnly(_ isReadOnly: Bool) {
        state.withLock { $0.isReadOnly = isReadOnly }
    }

    package func hide(_ isHidden: @escaping @Sendable (String) -> Bool) {
        state.withLock { $0.isHidden = isHidden }
    }

    package func alter(_ altered: @escaping @Sendable (StoredRecord) -> [UInt8]) {
        state.withLock { $0.altered = altered }
    }

    package func leaveUnanswered(_ count: Int) { state.withLock { $0.unansweredCount = count } }

    // MARK: The server

    package func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord] {
        try state.withLock { state in
            if state.isUnreachable { throw Unreachable() }
            let keys = state.records.keys.filter {
                $0.hasPrefix(prefix) && $0 > previous ?? "" && !state.isHidden($0)
            }
            return keys.sorted().prefix(limit).map { key in
                let record = StoredRecord(key: key, value: state.records[key] ?? [])
                return StoredRecord(key: key, value: state.altered(record))
            }
        }
    }

    package func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
        try state.withLock { state in
            if state.isUnreachable { throw Unreachable() }
            if let present = state.records[key] { return .exists(present) }
            if state.isReadOnly { throw Unreachable() }
            state.store(key, value)
            if state.unansweredCount > 0 {
                state.unansweredCount -= 1
                throw Unreachable()
            }
            return .created
        }
    }

    package func put(_ key: String, _ value: [UInt8]) async throws {
        try state.withLock { state in
            if state.isUnreachable || state.isReadOnly { throw Unreachable() }
            state.store(key, value)
        }
    }

    package func delete(from first: String, to end: String) async throws {
        try state.withLock { state in
            if state.isUnreachable { throw Unreachable() }
            for key in state.records.keys where key >= first && key < end {
                state.records[key] = nil
            }
        }
    }

    package func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error> {
        let (changes, continuation) = AsyncThrowingStream.makeStream(of: String.self)
        try state.withLock { state in
            if state.isUnreachable { throw Unreachable() }
            let watcher = state.nextWatcher
            state.nextWatcher += 1
            state.watchers[watcher] = continuation
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.watchers[watcher] = nil }
            }
        }
        return changes
    }
}

extension MemoryStore.State {
    mutating func store(_ key: String, _ value: [UInt8]) {
        records[key] = value
        everything.append(value)
        for watcher in watchers.values { watcher.yield(key) }
    }
}

extension RecordStore {
    /// All records with a prefix.
    package func allRecords(_ prefix: String) async throws -> [StoredRecord] {
        let limit = 64
        var all: [StoredRecord] = []
        while true {
            let page = try await records(prefix, after: all.last?.key, limit: limit)
            all += page
            if page.count < limit { return all }
        }
    }
}
