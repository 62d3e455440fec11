// AttributeValue: the value of an attribute, its conversions and its equality.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// The value of an attribute, as it is stored and returned.
package enum AttributeValue: Hashable, Sendable {
    case string(String)
    case data(Data)
    case number(Int64)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)

    /// Converts the value to the form in which an attribute of the given kind stores it.
    ///
    /// - Returns: `nil` if an attribute of this kind can't have such a value (`errSecParam`).
    package func converted(to kind: Attribute.Kind) -> AttributeValue? {
        switch (kind, self) {
        case (.string, .string), (.blob, .string), (.blob, .data), (.blob, .number),
            (.data, .data), (.number, .number):
            return self
        case (.date, .date(let seconds)):
            // Zero has two representations, with different comparison bytes. Only one is stored.
            return seconds.isFinite ? .date(seconds.isZero ? 0 : seconds) : nil
        case (.string, .data(let data)):
            return String(validating: data, as: UTF8.self).map { .string($0) }
        case (.data, .string(let text)):
            return .data(Data(text.utf8))
        case (.data, .number(let number)):
            guard let small = Int32(exactly: number) else { return nil }
            let bits = UInt32(bitPattern: small)
            return .data(Data((0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }))
        case (.number, .string(let text)):
            // Apple's parser doesn't accept "+5", " 5" or numbers of more than 32 bits as integers.
            // They stay text.
            guard let number = Int32(text), String(number) == text else { return self }
            return .number(Int64(number))
        default:
            return nil
        }
    }

    /// The bytes by which the values of one attribute are indexed, and by which text and data are
    /// compared.
    ///
    /// Text and data with the same bytes are equal. A number equals only numbers, and a date only
    /// dates: the first byte distinguishes them. There is no Unicode normalization, and the
    /// comparison is case-sensitive.
    package var comparisonBytes: [UInt8] {
        var bytes: [UInt8] = []
        appendComparisonBytes(to: &bytes)
        return bytes
    }

    /// Appends ``comparisonBytes`` without allocating a separate array.
    package func appendComparisonBytes(to bytes: inout [UInt8]) {
        switch self {
        case .string(let text):
            bytes.append(0)
            bytes.append(contentsOf: text.utf8)
        case .data(let data):
            bytes.append(0)
            bytes.append(contentsOf: data)
        case .number(let number):
            bytes.append(1)
            bytes.append(contentsOf: bigEndianBytes(UInt64(bitPattern: number)))
        case .date(let seconds):
            bytes.append(2)
            bytes.append(contentsOf: bigEndianBytes(seconds.bitPattern))
        }
    }

    package func isEqual(to other: AttributeValue) -> Bool {
        switch (self, other) {
        case (.number(let a), .number(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        default: comparisonBytes == other.comparisonBytes
        }
    }

    /// The value of an absent attribute in a primary key.
    package static func empty(of kind: Attribute.Kind) -> AttributeValue {
        switch kind {
        case .string, .blob: .string("")
        case .data: .data(Data())
        case .number: .number(0)
        case .date: .date(0)
        }
    }
}

/// The eight bytes of a number in big-endian order.
package func bigEndianBytes(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
}
