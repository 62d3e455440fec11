// ItemReference: the identifier that an item keeps for as long as it exists.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// The 16 bytes that identify an item in a persistent reference. They are random, except those that
/// are made from a row number of an Apple system's keychain.
///
/// An update keeps the reference; deleting and adding an item creates a new one. A reference grants
/// no access.
package struct ItemReference: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    package let value: Bytes16

    package init(_ value: Bytes16) {
        self.value = value
    }

    /// - Returns: `nil` unless there are exactly ``byteCount`` bytes.
    package init?(bytes: [UInt8]) {
        guard let value = Bytes16(bytes) else { return nil }
        self.init(value)
    }

    /// Returns a new random reference.
    package static func random() -> ItemReference {
        ItemReference(.random())
    }

    /// The ``byteCount`` bytes of the reference.
    package var bytes: [UInt8] { value.bytes }

    /// The reference as 32 lowercase hexadecimal digits.
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
    /// The number of bytes at the start of a persistent reference that state the class.
    private static let classByteCount = 4
    /// The size of a row number, which the keychain of an Apple system can use in place of a
    /// reference.
    private static let rowNumberByteCount = 8

    /// Decodes a value of `kSecValuePersistentRef`: the class, which is ignored, followed by a
    /// reference or by a row number. A row number becomes a reference with leading zeros.
    ///
    /// - Returns: `nil` if the number of bytes fits neither form.
    package init?(persistent bytes: Data) {
        let own = Array(bytes.dropFirst(Self.classByteCount))
        switch own.count {
        case Self.byteCount: self.init(bytes: own)
        case Self.rowNumberByteCount:
            self.init(bytes: Array(repeating: 0, count: Self.byteCount - own.count) + own)
        default: return nil
        }
    }

    /// The value of `kSecValuePersistentRef` for an item of the given class.
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
