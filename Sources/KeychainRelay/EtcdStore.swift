// EtcdStore: etcd as the server of a relay.

#if Synchronization

import KeychainCore
package import KeychainEtcd

package struct EtcdStore: RecordStore {
    private let client: EtcdClient

    /// The number of attempts after which `create` fails; `put` fails after one more. An attempt of
    /// `put` can fail because another client changed the record after the previous attempt.
    private static let attemptCount = 10

    package init(_ client: EtcdClient) { self.client = client }

    package func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        var previous = previous.map { EtcdKey($0) }
        var revision: Int64?
        while true {
            let page = try await client.range(
                EtcdKey(prefix), after: previous, limit: limit - records.count,
                revision: revision)
            records += page.items.compactMap(Self.record)
            guard page.hasMore, records.count < limit, let last = page.items.last else {
                return records
            }
            previous = last.key
            revision = page.revision
        }
    }

    private static func record(_ item: EtcdItem) -> StoredRecord? {
        String(validating: item.key.bytes, as: UTF8.self).map {
            StoredRecord(key: $0, value: item.value)
        }
    }

    package func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
        for _ in 0..<Self.attemptCount {
            let outcome = try await client.putIfAbsent(EtcdKey(key), value)
            if outcome.succeeded { return .created }
            if let item = outcome.item { return .exists(item.value) }
            // The answer says that the record exists, but doesn't contain its value. A sound server
            // never answers this way.
        }
        throw EtcdFailure.contradictory
    }

    package func put(_ key: String, _ value: [UInt8]) async throws {
        var outcome = try await client.putIfAbsent(EtcdKey(key), value)
        for _ in 0..<Self.attemptCount where !outcome.succeeded {
            outcome = try await client.compareAndSwap(
                EtcdKey(key), modRevision: outcome.item?.modRevision ?? 0, value)
        }
        guard outcome.succeeded else { throw EtcdFailure.contradictory }
    }

    package func delete(from first: String, to end: String) async throws {
        _ = try await client.deleteRange(from: EtcdKey(first), to: EtcdKey(end))
    }

    package func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error> {
        let page = try await client.range(EtcdKey(prefix), limit: 1)
        // The revision comes from the server, which may send any number.
        let next = page.revision < .max ? page.revision + 1 : .max
        let watch = client.watch(EtcdKey(prefix), from: next)
        let (changes, continuation) = AsyncThrowingStream.makeStream(of: String.self)
        let task = Task {
            do {
                for try await event in watch {
                    switch event {
                    case .put(let item): continuation.yield(Self.record(item)?.key ?? "")
                    case .deletion: break
                    case .compacted: continuation.yield("")
                    }
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return changes
    }
}

#endif
