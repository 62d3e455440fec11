// RacingStore: a server on which another machine changes the membership log first.

import KeychainRelay
import SynchronizationTestSupport

/// A server on which `event` happens before each of the first `count` records that are created in
/// the membership log.
actor RacingStore: RecordStore {
    private let server: MemoryStore
    private var count: Int
    private let event: @Sendable () async throws -> Void

    init(
        _ server: MemoryStore, count: Int, _ event: @escaping @Sendable () async throws -> Void
    ) {
        self.server = server
        self.count = count
        self.event = event
    }

    func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord] {
        try await server.records(prefix, after: previous, limit: limit)
    }

    func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
        if key.contains("/m/"), count > 0 {
            count -= 1
            try await event()
        }
        return try await server.create(key, value)
    }

    func put(_ key: String, _ value: [UInt8]) async throws { try await server.put(key, value) }

    func delete(from first: String, to end: String) async throws {
        try await server.delete(from: first, to: end)
    }

    func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error> {
        try await server.changes(prefix)
    }
}
