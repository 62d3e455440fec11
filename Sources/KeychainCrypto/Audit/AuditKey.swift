// AuditKey: the keys of an audit; the labels of the items in its records; and the head, a hash over
// all records so far. Each record has its own key, derived from that of the record before.
//   (1) The key of a record determines the keys of all later records, but of no earlier one.
//   (2) The process that writes the audit has only the key of the next record. A holder of the
//       verification key can derive all keys from the first on.
//   (3) `next` keeps no copy of the current key: nothing of that key is left once it is released.

package import KeychainCore

/// The values derived from the verification key of an audit. This key is printed in the same form
/// as a recovery code.
package struct AuditOrigin: Sendable {
    /// The identifier of the audit.
    package let chain: Bytes16
    /// The key of record 1.
    package let firstKey: AuditKey
    /// The key of the item labels. It never changes.
    package let itemKey: SecretBytes

    package init(_ verificationKey: RecoveryCode) {
        let keyed = KeyedHash(key: verificationKey.bytes)
        chain = Bytes16(prefixOf: keyed.code(of: Array("swift-keychain audit 1 chain".utf8)))
        firstKey = AuditKey(keyed.secretCode(of: Array("swift-keychain audit 1 first".utf8)))
        itemKey = keyed.secretCode(of: Array("swift-keychain audit 1 items".utf8))
    }
}

/// The key of one record.
package struct AuditKey: Sendable {
    /// The key, 32 bytes.
    package let bytes: SecretBytes
    private let keyed: KeyedHash

    package init(_ bytes: SecretBytes) {
        self.bytes = bytes
        keyed = KeyedHash(key: bytes)
    }

    /// The tag at the end of a record, 32 bytes.
    package func tag(of record: [UInt8]) -> [UInt8] { keyed.code(of: record).bytes }

    /// Derives the key of the next record.
    package func next() -> AuditKey {
        AuditKey(keyed.secretCode(of: Self.step))
    }

    private static let step = Array("swift-keychain audit 1 next".utf8)
}

/// Computes labels that identify items in an audit without revealing their names.
package struct AuditItemLabels: Sendable {
    private let keyed: KeyedHash

    package init(key: SecretBytes) { keyed = KeyedHash(key: key) }

    /// The label of an item, which is the same in all records. It is computed from the item's
    /// random reference, so even a holder of the key can't guess an item's name from its label.
    package func label(of item: ItemReference) -> Bytes16 {
        Bytes16(prefixOf: keyed.code(of: item.bytes))
    }
}

/// A hash over all records up to a given one: SHA-256 over the previous record's head and the
/// record's tag.
package struct AuditHead: Hashable, Sendable {
    package static let none = AuditHead(bytes: [UInt8](repeating: 0, count: byteCount))
    package static let byteCount = 32

    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package func following(_ tag: [UInt8]) -> AuditHead {
        AuditHead(bytes: Fingerprint.sha256(of: bytes + tag))
    }

    /// The first 16 bytes as 32 hexadecimal digits, for notes outside the audit.
    package var short: String { Hexadecimal.text(bytes.prefix(16)) }
}

/// The hexadecimal form used in audits: lowercase, two digits per byte.
package enum Hexadecimal {
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Returns `nil` if the text is malformed.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let values = text.utf8.map { byte -> UInt8? in
            switch byte {
            case 0x30...0x39: byte - 0x30
            case 0x61...0x66: byte - 0x61 + 10
            default: nil
            }
        }
        guard values.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
