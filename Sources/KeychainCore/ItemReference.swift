// ItemReference: what stays the same about an item for as long as it exists.

/// The 16 random bytes in a persistent reference.
///
/// An update keeps it; delete and add gives a new one. It grants no access.
package struct ItemReference: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    package let value: Bytes16

    package init(_ value: Bytes16) {
        self.value = value
    }

    /// - Returns: nil unless there are exactly ``byteCount`` bytes.
    package init?(bytes: [UInt8]) {
        guard let value = Bytes16(bytes) else { return nil }
        self.init(value)
    }

    /// A fresh random reference.
    package static func random() -> ItemReference {
        ItemReference(.random())
    }

    /// The bytes, ``byteCount`` of them.
    package var bytes: [UInt8] { value.bytes }

    /// Lower-case hexadecimal, 32 digits.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * Self.byteCount)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
