// HookedStore: a server that does something before it reads or changes records, such as letting
// another machine exchange data with the server, or losing the connection.
// OccupiedStore: a server that refuses to store the challenges that members send to joiners.

import KeychainRelay
import SynchronizationTestSupport
import Synchronization

/// A server that runs a closure before each request to read or change records, but not before
/// `changes(_:)`. If the closure throws, the request fails and isn't carried out.
final class HookedStore: RecordStore {
    struct Lost: Error {}

    enum Request {
        /// The prefix or key of the records. For a deletion, the first key.
        case read(String), create(String), put(String), delete(String)
    }

    private let server: MemoryStore
    private let before: @Sendable (Request) async throws -> Void

    init(_ server: MemoryStore, _ before: @escaping @Sendable (Request) async throws -> Void) {
        self.server = server
        self.before = before
    }

    /// A server on which `event` happens before each of the first `count` requests to create a
    /// record in the membership log.
    static func racing(
        _ server: MemoryStore, count: Int, _ event: @escaping @Sendable () async throws -> Void
    ) -> HookedStore {
        let counter = Counter()
        return HookedStore(server) { request in
            guard case .create(let key) = request, key.contains("/m/"), counter.value < count
            else { return }
            counter.increment()
            try await event()
        }
    }

    /// A server that carries out requests until it has received `count` requests to create a record
    /// whose key contains `part`. All later requests to read or change records fail, as if the
    /// connection were lost.
    static func lost(
        after count: Int, creationsOf part: String, _ server: MemoryStore
    ) -> HookedStore {
        let counter = Counter()
        return HookedStore(server) { request in
            if counter.value >= count { throw Lost() }
            if case .create(let key) = request, key.contains(part) { counter.increment() }
        }
    }

    func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord] {
        try await before(.read(prefix))
        return try await server.records(prefix, after: previous, limit: limit)
    }

    func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
        try await before(.create(key))
        return try await server.create(key, value)
    }

    func put(_ key: String, _ value: [UInt8]) async throws {
        try await before(.put(key))
        try await server.put(key, value)
    }

    func delete(from first: String, to end: String) async throws {
        try await before(.delete(first))
        try await server.delete(from: first, to: end)
    }

    func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error> {
        try await server.changes(prefix)
    }
}

/// A server that refuses to store challenges: it answers each time that there already is a record
/// with the key of the challenge. `challenges` contains the first ten challenges. Requests to store
/// further challenges fail, as if the server couldn't be reached.
final class OccupiedStore: RecordStore {
    private let server: MemoryStore
    private let taken = Mutex<[[UInt8]]>([])

    init(_ server: MemoryStore) { self.server = server }

    var challenges: [[UInt8]] { taken.withLock { $0 } }

    func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
        guard key.hasSuffix("/2") else { return try await server.create(key, value) }
        guard challenges.count < 10 else { throw MemoryStore.Unreachable() }
        taken.withLock { $0.append(value) }
        return .exists([0])
    }

    func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord] {
        try await server.records(prefix, after: previous, limit: limit)
    }

    func put(_ key: String, _ value: [UInt8]) async throws {
        try await server.put(key, value)
    }

    func delete(from first: String, to end: String) async throws {
        try await server.delete(from: first, to: end)
    }

    func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error> {
        try await server.changes(prefix)
    }
}

final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func increment() { count.withLock { $0 += 1 } }
}
