// EtcdClient+Get: reads single keys, for tests.

#if Synchronization

package import KeychainEtcd

extension EtcdClient {
    /// The item of a key. `nil` if there is no such key.
    package func get(_ key: EtcdKey) async throws -> EtcdItem? {
        // Of the keys that begin with `key`, `key` itself comes first.
        try await range(key, limit: 1).items.first { $0.key == key }
    }
}

#endif
