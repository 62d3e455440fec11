// BlindIndex: keyed labels by which values are found without being stored.
//   (1) A label is the first 16 bytes of HMAC-SHA-256 under the index key.
//   (2) Equal values of one attribute have equal labels within one `Space`: a class, synchronizable
//       or not, tombstone or not. The labels reveal nothing else.
//   (3) The encoding of each input is injective: each field has a fixed size, is preceded by its
//       length, or is the last one.

package import KeychainCore
import Synchronization

/// A 16-byte label.
package typealias Label = Bytes16

package struct BlindIndex: Sendable {
    package static let labelByteCount = 16

    private let keyed: KeyedHash
    /// Caches of labels that many requests have in common: those of access groups and of the first
    /// attribute of the primary key, such as the service of a password. A program uses few
    /// different ones.
    private let recentGroups = RecentLabels()
    private let recentKeys = RecentLabels()

    package init(key: SecretBytes) {
        keyed = KeyedHash(key: key)
    }

    /// The part of the index that an item belongs to. Labels of different spaces are unrelated.
    package struct Space: Hashable, Sendable {
        package var itemClass: ItemClass
        package var isSynchronizable: Bool
        package var isTombstone: Bool

        package init(itemClass: ItemClass, isSynchronizable: Bool, isTombstone: Bool) {
            self.itemClass = itemClass
            self.isSynchronizable = isSynchronizable
            self.isTombstone = isTombstone
        }
    }

    /// The domains of labels, encoded as the first byte of each input.
    private enum Domain: UInt8 {
        case attribute = 1
        case remainingKey = 2
        case accessGroup = 3
        case server = 4
    }

    package func label(of attribute: Attribute, _ value: AttributeValue, in space: Space) -> Label {
        var input = Self.prefix(.attribute, space)
        Self.append(attribute.rawValue, to: &input)
        value.appendComparisonBytes(to: &input)
        guard attribute == space.itemClass.firstKey else { return label(input) }
        return recentKeys.label(for: input) { label(input) }
    }

    /// One label for the access group together with all attributes of the primary key except the
    /// first two.
    package func remainingKeyLabel(
        _ attributes: Attributes, accessGroup: String, in space: Space
    ) -> Label {
        var input = Self.prefix(.remainingKey, space)
        Self.append(Array(accessGroup.utf8), to: &input)
        Self.append(space.itemClass.otherKeys, of: attributes, to: &input)
        return label(input)
    }

    /// One label for all attributes that distinguish the servers on one host. Absent attributes
    /// count as empty values.
    package func serverLabel(_ attributes: Attributes, in space: Space) -> Label {
        var input = Self.prefix(.server, space)
        Self.append(ItemClass.serverParts, of: attributes, to: &input)
        return label(input)
    }

    package func label(ofAccessGroup name: String, in space: Space) -> Label {
        var input = Self.prefix(.accessGroup, space)
        input.append(contentsOf: name.utf8)
        return recentGroups.label(for: input) { label(input) }
    }

    private func label(_ input: [UInt8]) -> Label {
        Label(prefixOf: keyed.code(of: input))
    }

    private static func prefix(_ domain: Domain, _ space: Space) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        bytes.append(domain.rawValue)
        append(space.itemClass.rawValue, to: &bytes)
        bytes.append((space.isSynchronizable ? 1 : 0) | (space.isTombstone ? 2 : 0))
        return bytes
    }

    private static func append(
        _ names: [Attribute], of attributes: Attributes, to bytes: inout [UInt8]
    ) {
        for attribute in names {
            let value = attributes[attribute] ?? .empty(of: attribute.kind)
            append(attribute.rawValue, to: &bytes)
            append(value.comparisonBytes, to: &bytes)
        }
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 24))
        bytes.append(UInt8(truncatingIfNeeded: value >> 16))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    private static func append(_ field: [UInt8], to bytes: inout [UInt8]) {
        append(UInt32(truncatingIfNeeded: field.count), to: &bytes)
        bytes.append(contentsOf: field)
    }
}

/// A cache of labels, keyed by their complete input as bytes: as text, two Unicode forms of a name
/// would be the same key. The cache is emptied when it reaches its limit.
private final class RecentLabels: Sendable {
    private static let limit = 256
    /// Longer inputs are rare and not worth the memory.
    private static let longestInput = 256

    private struct Known {
        /// The most recent entry. Comparing with it costs less than hashing.
        var last: (input: [UInt8], label: Label)?
        var labels: [[UInt8]: Label] = [:]
    }

    private let known = Mutex(Known())

    func label(for input: [UInt8], _ make: () -> Label) -> Label {
        guard input.count <= Self.longestInput else { return make() }
        let found = known.withLock { known -> Label? in
            if let last = known.last, last.input == input { return last.label }
            guard let label = known.labels[input] else { return nil }
            known.last = (input, label)
            return label
        }
        if let found { return found }
        let label = make()
        known.withLock { known in
            if known.labels.count >= Self.limit { known.labels = [:] }
            known.labels[input] = label
            known.last = (input, label)
        }
        return label
    }
}
