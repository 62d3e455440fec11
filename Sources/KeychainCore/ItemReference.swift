// ItemReference: what stays the same about an item for as long as it exists.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

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

// MARK: The persistent reference

extension ItemReference {
    /// How many bytes of a persistent reference say the class.
    private static let classByteCount = 4
    /// A system's keychain may have a row number in place of a reference.
    private static let rowNumberByteCount = 8

    /// Reads the value of `kSecValuePersistentRef`: the class, and a reference or a row number, which
    /// gets zeros in front.
    ///
    /// - Returns: nil for bytes that are neither.
    package init?(persistent bytes: Data) {
        let own = Array(bytes.dropFirst(Self.classByteCount))
        switch own.count {
        case Self.byteCount: self.init(bytes: own)
        case Self.rowNumberByteCount:
            self.init(bytes: Array(repeating: 0, count: Self.byteCount - own.count) + own)
        default: return nil
        }
    }

    /// The value of `kSecValuePersistentRef` of an item.
    package func persistent(of itemClass: ItemClass) -> Data {
        let zeros = Self.byteCount - Self.rowNumberByteCount
        let isRowNumber = bytes.prefix(zeros).allSatisfy { $0 == 0 }
        return Data(itemClass.name.utf8) + (isRowNumber ? Array(bytes.dropFirst(zeros)) : bytes)
    }
}

extension ItemSnapshot {
    /// The value of `kSecValuePersistentRef`.
    package var persistentReference: Data { reference.persistent(of: itemClass) }
}
