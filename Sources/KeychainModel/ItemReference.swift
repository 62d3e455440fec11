// ItemReference: what stays the same about an item for as long as it exists.

/// The 16 random bytes in a persistent reference.
///
/// An update keeps it; delete and add gives a new one. It grants no access.
package struct ItemReference: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    /// The bytes, ``byteCount`` of them.
    package let bytes: [UInt8]

    /// - Returns: nil unless there are exactly ``byteCount`` bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A fresh random reference.
    package static func random() -> ItemReference {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<Self.byteCount).map { _ in generator.next() as UInt8 }
        return ItemReference(unchecked: bytes)
    }

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Lower-case hexadecimal, 32 digits.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
