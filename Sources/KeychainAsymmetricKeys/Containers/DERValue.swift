// DERValue: ASN.1 to be written, as a tree. Writing one can't fail, unlike a serializer's calls.

package import SwiftASN1

/// An element of DER.
package indirect enum DERValue {
    case sequence([DERValue])
    /// The elements are written in the order that DER asks for.
    case set([DERValue])
    /// An explicit tag of the context around an element.
    case tagged(UInt8, DERValue)
    /// A tag of the context in place of the element's own, over primitive contents.
    case implicit(UInt8, [UInt8])
    /// A tag of the context in place of a SEQUENCE's or SET's own.
    case implicitConstructed(UInt8, [DERValue])
    case octets([UInt8])
    case bits([UInt8])
    case integer(Int)
    case identifier(ASN1ObjectIdentifier)
    case bmpString(String)
    case utcTime(String)
    case null
    /// An element that is encoded already.
    case encoded([UInt8])

    /// The encoding.
    package var bytes: [UInt8] {
        switch self {
        case .sequence(let values): Self.element(0x30, values.flatMap(\.bytes))
        case .set(let values):
            Self.element(
                0x31,
                values.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
        case .tagged(let number, let value): Self.element(0xA0 | number, value.bytes)
        case .implicit(let number, let contents): Self.element(0x80 | number, contents)
        case .implicitConstructed(let number, let values):
            Self.element(0xA0 | number, values.flatMap(\.bytes))
        case .octets(let contents): Self.element(0x04, contents)
        case .bits(let contents): Self.element(0x03, [0] + contents)
        case .integer(let value): Self.element(0x02, Self.twosComplement(value))
        case .identifier(let identifier): Self.element(0x06, Self.base128(identifier))
        case .bmpString(let text): Self.element(0x1E, text.bigEndianUTF16)
        case .utcTime(let text): Self.element(0x17, Array(text.utf8))
        case .null: [0x05, 0x00]
        case .encoded(let bytes): bytes
        }
    }

    private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        if contents.count < 0x80 { return [tag, UInt8(contents.count)] + contents }
        let length = bigEndian(contents.count)
        return [tag, 0x80 | UInt8(length.count)] + length + contents
    }

    /// The bytes of a number from 0, without leading zeros.
    private static func bigEndian(_ value: Int) -> [UInt8] {
        Array(allBytes(of: value).drop { $0 == 0 })
    }

    private static func twosComplement(_ value: Int) -> [UInt8] {
        var bytes = allBytes(of: value)
        while bytes.count > 1,
            (bytes[0] == 0 && bytes[1] < 0x80) || (bytes[0] == 0xFF && bytes[1] >= 0x80)
        {
            bytes.removeFirst()
        }
        return bytes
    }

    private static func allBytes(of value: Int) -> [UInt8] {
        stride(from: Int.bitWidth - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: value >> $0)
        }
    }

    private static func base128(_ identifier: ASN1ObjectIdentifier) -> [UInt8] {
        let components = identifier.oidComponents
        guard components.count >= 2 else { return [] }
        let numbers = [components[0] * 40 + components[1]] + components.dropFirst(2)
        return numbers.flatMap { number in
            var bytes = [UInt8(number & 0x7F)]
            var rest = number >> 7
            while rest > 0 {
                bytes.insert(0x80 | UInt8(rest & 0x7F), at: 0)
                rest >>= 7
            }
            return bytes
        }
    }
}

extension String {
    /// UTF-16, the high byte first: BMPString, as far as its characters are of the first plane.
    package var bigEndianUTF16: [UInt8] {
        utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}
