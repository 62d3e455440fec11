// AuditKey: the keys of an audit: each record has its own, made from that of the record before.
//   (1) From a record's key follow those of all later ones, and none of an earlier one.
//   (2) Who keeps the audit has the key of the next record. Who has the verification key can make all
//       of them, from the first on.
//   (3) `next` leaves nothing behind of the key that it was asked of, once that one is let go of.

package import KeychainCore

/// What follows from the verification key of an audit, which is printed as a recovery code is.
package struct AuditOrigin: Sendable {
    /// Names the audit.
    package let chain: Bytes16
    /// That of record 1.
    package let firstKey: AuditKey
    /// Labels items. It stays the same.
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
    /// 32 of them.
    package let bytes: SecretBytes
    private let keyed: KeyedHash

    package init(_ bytes: SecretBytes) {
        self.bytes = bytes
        keyed = KeyedHash(key: bytes)
    }

    /// What a record ends in: 32 bytes.
    package func tag(of record: [UInt8]) -> [UInt8] { keyed.code(of: record).bytes }

    /// The key of the next record.
    package func next() -> AuditKey {
        AuditKey(keyed.secretCode(of: Self.step))
    }

    private static let step = Array("swift-keychain audit 1 next".utf8)
}

/// Names items in an audit, without saying what they are called.
package struct AuditItemLabels: Sendable {
    private let keyed: KeyedHash

    package init(key: SecretBytes) { keyed = KeyedHash(key: key) }

    /// The same for each record about the item. It is made of random bytes, so not even who has the
    /// key can guess a name by it.
    package func label(of item: ItemReference) -> Bytes16 {
        Bytes16(prefixOf: keyed.code(of: item.bytes))
    }
}

/// What stands for all records up to one: SHA-256 over that of the records before and its tag.
package struct AuditHead: Hashable, Sendable {
    package static let none = AuditHead(bytes: [UInt8](repeating: 0, count: byteCount))
    package static let byteCount = 32

    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package func following(_ tag: [UInt8]) -> AuditHead {
        AuditHead(bytes: Fingerprint.sha256(of: bytes + tag))
    }

    /// The first 16 bytes, 32 digits: what is noted elsewhere.
    package var short: String { Hexadecimal.text(bytes.prefix(16)) }
}

/// Digits of audits: lower case, two a byte.
package enum Hexadecimal {
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil: it is anything else.
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
