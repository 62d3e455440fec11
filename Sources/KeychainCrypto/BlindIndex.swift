// BlindIndex: keyed labels under which values are found without being stored.
//   (1) A label is the first 16 bytes of HMAC-SHA-256 under the index key.
//   (2) Equal values of one attribute of one class have equal labels; nothing else is told.
//   (3) The encoding of each input is injective: fixed-size fields, or lengths in front.

package import KeychainCore
import Synchronization

/// A 16-byte label.
package typealias Label = Bytes16

package struct BlindIndex: Sendable {
    package static let labelByteCount = 16

    private let keyed: KeyedHash
    /// Labels that many requests share: those of access groups and of first key attributes
    /// (service or server), of which a program uses few.
    private let recentGroups = RecentLabels()
    private let recentKeys = RecentLabels()

    package init(key: SecretBytes) {
        keyed = KeyedHash(key: key)
    }

    /// The part of the index an item belongs to: labels of different parts never meet.
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

    /// Domains of labels; the first byte of each input.
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

    /// The label of what completes an item's primary key beside its two key attributes.
    package func remainingKeyLabel(
        _ attributes: Attributes, accessGroup: String, in space: Space
    ) -> Label {
        var input = Self.prefix(.remainingKey, space)
        Self.append(Array(accessGroup.utf8), to: &input)
        Self.append(space.itemClass.otherKeys, of: attributes, to: &input)
        return label(input)
    }

    /// The label of all parts that tell the servers on a host apart, the absent ones as empty values.
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

/// Labels that were made before, by their whole input: as text, two Unicode forms of a name would
/// be one key. Forgets all when it has grown too large.
private final class RecentLabels: Sendable {
    private static let limit = 256
    /// A longer input is a rare one, and is not worth the memory.
    private static let longestInput = 256

    private struct Known {
        /// What was asked for last: comparing it costs less than hashing.
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
