// EtcdKey: keys of etcd, the range of the keys with a given prefix, and keys with their values.

#if Synchronization

/// A key, or the prefix of several keys. Keys are ordered by their bytes.
package struct EtcdKey: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ text: String) { bytes = Array(text.utf8) }
    package init(stringLiteral text: String) { self.init(text) }

    package static func < (one: EtcdKey, other: EtcdKey) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }

    package static func + (one: EtcdKey, other: EtcdKey) -> EtcdKey {
        EtcdKey(one.bytes + other.bytes)
    }

    /// The end of the range of the keys with this prefix: the first greater key without the prefix.
    /// If all bytes are 255, there is no such key, and etcd uses a zero byte instead.
    var end: EtcdKey {
        var bytes = bytes
        while let last = bytes.popLast() {
            if last < 255 { return EtcdKey(bytes + [last + 1]) }
        }
        return EtcdKey([0])
    }

    /// The next key in order.
    var successor: EtcdKey { EtcdKey(bytes + [0]) }

    /// The key without the prefix; `nil` if it doesn't begin with the prefix.
    func dropping(_ prefix: EtcdKey) -> EtcdKey? {
        bytes.starts(with: prefix.bytes) ? EtcdKey(Array(bytes[prefix.bytes.count...])) : nil
    }
}

/// A key with its value, as read at some revision.
package struct EtcdItem: Hashable, Sendable {
    /// The key without the configured prefix.
    package let key: EtcdKey
    package let value: [UInt8]
    /// The revision at which the key was last created.
    package let createRevision: Int64
    /// The revision of the last change.
    package let modRevision: Int64
    /// The number of writes since the key was created, from 1.
    package let version: Int64
}

#endif
