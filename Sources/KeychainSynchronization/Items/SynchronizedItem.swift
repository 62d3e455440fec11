// SynchronizedItem: a version of an item: the item as one machine wrote it, or its deletion.
// Documentation/Synchronization.md, "Items".
//   (1) Of two versions, all machines prefer the same one, in whatever order the two arrive: the
//       one with the later modification date. If the dates are equal, a deletion is preferred. If
//       both or neither are deletions, the version with the smaller digest is preferred. Apple's
//       `SecItemDataSource` has the same rule, but doesn't prefer deletions, and compares SHA-1
//       digests.
//   (2) Only items that travel between machines have versions. `ReasonToStay` lists why an item
//       stays on its machine.

package import FoundationEssentials
package import KeychainCore
import KeychainCrypto
package import KeychainSQLite

package struct SynchronizedItem: Hashable, Sendable {
    package let record: ItemRecord
    package let protection: ProtectionClass
    @Hidden package private(set) var data: Data?

    /// - Returns: `nil` if ``reasonToStay(_:_:_:)`` returns a reason.
    package init?(_ record: ItemRecord, _ protection: ProtectionClass, data: Data?) {
        self.record = record
        self.protection = protection
        _data = Hidden(wrappedValue: data)
        guard Self.reasonToStay(record, protection, data) == nil else { return nil }
    }

    /// Why an item stays on its machine.
    package enum ReasonToStay: String, Codable, Hashable, Sendable, CaseIterable {
        case notSynchronizable
        case thisDeviceOnly
        case hardwareKey
        case systemBound
        /// Its access control requires the user's presence or a password.
        case accessControl
        /// Attributes and data together have too many bytes.
        case tooLarge
        /// This machine may see only some access groups, and the item's group isn't among them.
        case groupNotShared
        /// The name of its access group has too many bytes.
        case groupNameTooLong
        /// It has attributes, a date or data that such an item can't have, or lacks required ones.
        case notValid
    }

    /// The maximum size of an item that travels, in bytes. One log entry must have room for it.
    package static let byteLimit = 640 << 10

    /// Checks the item alone, not whether its access group is shared with this machine.
    ///
    /// - Returns: A reason other than ``ReasonToStay/groupNotShared``, or `nil` if there is none.
    package static func reasonToStay(
        _ record: ItemRecord, _ protection: ProtectionClass, _ data: Data?
    ) -> ReasonToStay? {
        if !record.isSynchronizable { return .notSynchronizable }
        if protection.isThisDeviceOnly { return .thisDeviceOnly }
        if record.attributes[.tokenID] != nil { return .hardwareKey }
        if case .number(let number) = record.attributes[.systemBound], number != 0 {
            return .systemBound
        }
        if record.constraints.needsAuthentication || record.enrollment != nil {
            return .accessControl
        }
        if record.accessGroup.utf8.count > GroupKey.groupByteLimit { return .groupNameTooLong }
        if record.encoded().count + (data?.count ?? 0) > byteLimit { return .tooLarge }
        guard record.misfit == nil, record.secretTag == nil,
            case .date(let modified) = record.attributes[.modificationDate],
            abs(modified) < ItemRecord.dateLimit,
            data == nil || !record.isTombstone, !record.accessGroup.isEmpty
        else { return .notValid }
        return nil
    }

    // MARK: Which version counts

    /// Seconds since 2001-01-01.
    package var modified: Double {
        guard case .date(let seconds) = record.attributes[.modificationDate] else { return 0 }
        return seconds
    }

    package var stamp: VersionStamp {
        VersionStamp(
            modified: modified, isDeletion: record.isTombstone,
            digest: Digest(withPlaintext { Fingerprint.sha256(of: $0) }) ?? .zero)
    }

    /// Identifies the item of which this is a version: a digest over class, access group and
    /// primary key. As in the labels of rows, text and data with the same bytes are equal, and an
    /// empty value is equal to none. The digest never leaves the machine.
    package var name: Bytes16 {
        let itemClass = record.itemClass
        var writer = ByteWriter(capacity: 128)
        writer.number(itemClass.rawValue)
        writer.sized(Array(record.accessGroup.utf8))
        for attribute in itemClass.primaryKey {
            let value = record.attributes[attribute] ?? .empty(of: attribute.kind)
            writer.sized(value.comparisonBytes)
        }
        return Bytes16(Fingerprint.sha256(of: writer.result).prefix(16))
            ?? Bytes16(high: 0, low: 0)
    }

    // MARK: Bytes

    private static let version: UInt8 = 1
    /// The size of the plaintext in bytes.
    package var byteCount: Int { withPlaintext(\.count) }

    private func withPlaintext<Result>(_ body: ([UInt8]) -> Result) -> Result {
        var plaintext = encoded()
        defer { plaintext.erase() }
        return body(plaintext)
    }

    /// The plaintext, which the caller must erase.
    package func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 256 + (data?.count ?? 0))
        writer.number(Self.version)
        writer.number(protection.rawValue)
        writer.sized(record.encoded())
        writer.number(UInt8(data == nil ? 0 : 1))
        if let data { writer.sized(data) }
        return writer.result
    }

    /// - Returns: `nil` if the bytes are not exactly what ``encoded()`` returns.
    package init?(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let version: UInt8 = reader.number(), version == Self.version,
            let protection = reader.number().flatMap(ProtectionClass.init(rawValue:)),
            let record = reader.sized(limit: Self.byteLimit).flatMap({ ItemRecord(decoding: $0) }),
            let hasData: UInt8 = reader.number(), hasData <= 1
        else { return nil }
        var data: Data?
        if hasData == 1 {
            guard let bytes = reader.sized(limit: Self.byteLimit) else { return nil }
            data = Data(bytes)
        }
        guard reader.isAtEnd else { return nil }
        self.init(record, protection, data: data)
    }
}

/// Decides which of two versions of an item counts: the one with the greater stamp.
package struct VersionStamp: Hashable, Comparable, Sendable {
    /// Seconds since 2001-01-01. The absolute value is less than ``ItemRecord/dateLimit``.
    package let modified: Double
    package let isDeletion: Bool
    package let digest: Digest

    package init(modified: Double, isDeletion: Bool, digest: Digest) {
        self.modified = modified
        self.isDeletion = isDeletion
        self.digest = digest
    }

    package static func < (a: VersionStamp, b: VersionStamp) -> Bool {
        if a.modified != b.modified { return a.modified < b.modified }
        if a.isDeletion != b.isDeletion { return b.isDeletion }
        return a.digest > b.digest
    }
}
