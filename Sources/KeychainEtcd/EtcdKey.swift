// EtcdKey: a key of etcd, as bytes, and the ranges of keys that begin with one.

#if Synchronization

/// A key, or what several keys begin with. Keys are in the order of their bytes.
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

    /// The first key that doesn't begin with this one: the end of a range, in etcd's form. There is
    /// none after bytes that are all 255; etcd writes that as a zero byte.
    var end: EtcdKey {
        var bytes = bytes
        while let last = bytes.popLast() {
            if last < 255 { return EtcdKey(bytes + [last + 1]) }
        }
        return EtcdKey([0])
    }

    /// The next key in order.
    var successor: EtcdKey { EtcdKey(bytes + [0]) }

    /// The rest of a key that begins with another.
    func dropping(_ prefix: EtcdKey) -> EtcdKey? {
        bytes.starts(with: prefix.bytes) ? EtcdKey(Array(bytes[prefix.bytes.count...])) : nil
    }
}

/// A key with its value, at some revision.
package struct EtcdItem: Hashable, Sendable {
    /// Without the prefix of the circle.
    package let key: EtcdKey
    package let value: [UInt8]
    /// The revision at which the key was created, after its last deletion.
    package let createRevision: Int64
    /// The revision of the last change.
    package let modRevision: Int64
    /// The number of changes since the key was created, from 1.
    package let version: Int64
}

#endif
