// ASN1Coding: reading the ASN.1 of key containers, and writing DER.
//   (1) Reading returns `nil` for an element of another type than the requested one, and for a
//       value that is out of range. It never throws or traps.
//   (2) DER is written from a tree of values, because encoding a tree can't fail. The calls of
//       SwiftASN1's serializer can throw.

package import SwiftASN1

// MARK: - Reading

extension ASN1Node {
    /// The maximum number of elements that are read, at all depths together. Each element takes
    /// a few hundred bytes of memory, but its encoding can be as short as two bytes.
    package static let elementLimit = 1 << 20

    /// Reads the element whose encoding is exactly `bytes`. Returns `nil` if the bytes are anything
    /// else or contain more than ``elementLimit`` elements.
    ///
    /// The bytes are parsed as BER rather than DER, because some programs write their containers
    /// with indefinite lengths.
    package init?(encoded bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.hasElements(upTo: Self.elementLimit), let node = try? BER.parse(bytes) else {
            return nil
        }
        self = node
    }

    /// The contained elements, or `nil` for a primitive element.
    package var elements: [ASN1Node]? {
        guard case .constructed(let nodes) = content else { return nil }
        return Array(nodes)
    }

    /// The elements of a SEQUENCE.
    package var sequence: [ASN1Node]? {
        identifier == .sequence ? elements : nil
    }

    /// The elements of a SET.
    package var set: [ASN1Node]? {
        identifier == .set ? elements : nil
    }

    /// The contents of an OCTET STRING. The pieces of a constructed encoding are joined.
    package var octets: [UInt8]? {
        guard identifier == .octetString else { return nil }
        return implicitOctets
    }

    /// The contents of an OCTET STRING with an implicit tag.
    package var implicitOctets: [UInt8]? {
        switch content {
        case .primitive(let bytes): return Array(bytes)
        case .constructed(let pieces):
            var bytes: [UInt8] = []
            for piece in pieces {
                guard let part = piece.octets else { return nil }
                bytes += part
            }
            return bytes
        }
    }

    /// The value of an OBJECT IDENTIFIER.
    package var objectIdentifier: ASN1ObjectIdentifier? {
        try? ASN1ObjectIdentifier(berEncoded: self)
    }

    /// The value of an INTEGER; `nil` if it is out of the range of `Int`.
    package var integer: Int? {
        try? Int(berEncoded: self)
    }

    /// Whether the element has the context-specific tag `number`.
    package func isTagged(_ number: UInt) -> Bool {
        identifier.tagClass == .contextSpecific && identifier.tagNumber == number
    }

    /// The element enclosed by the explicit, context-specific tag `number`.
    package func tagged(_ number: UInt) -> ASN1Node? {
        guard isTagged(number), let elements, elements.count == 1 else { return nil }
        return elements.first
    }
}

extension [UInt8] {
    /// Whether the bytes contain at most `limit` BER elements.
    ///
    /// - Returns: `false` also if a tag, a length or the contents of a primitive element are
    ///   truncated, or if a length has more than 8 bytes.
    fileprivate func hasElements(upTo limit: Int) -> Bool {
        var rest = self[...]
        var count = 0
        while let tag = rest.popFirst() {
            count += 1
            guard count <= limit else { return false }
            if tag & 0x1F == 0x1F {
                while let byte = rest.popFirst(), byte >= 0x80 {}
            }
            guard let first = rest.popFirst() else { return false }
            var length = UInt64(first)
            if first >= 0x80 {
                let size = Int(first & 0x7F)
                guard size <= 8, size <= rest.count else { return false }
                length = rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
                rest = rest.dropFirst(size)
            }
            // The contents of a constructed element are counted next, whatever its length.
            guard tag & 0x20 == 0 else { continue }
            guard length <= UInt64(rest.count) else { return false }
            rest = rest.dropFirst(Int(length))
        }
        return true
    }
}

// MARK: - Writing

/// An element of DER.
package indirect enum DERValue {
    case sequence([DERValue])
    /// The elements are written in the order that DER requires.
    case set([DERValue])
    /// An explicit, context-specific tag around an element.
    case tagged(UInt8, DERValue)
    /// An implicit, context-specific tag with primitive contents.
    case implicit(UInt8, [UInt8])
    /// An implicit, context-specific tag in place of the tag of a SEQUENCE or SET.
    case implicitConstructed(UInt8, [DERValue])
    case octets([UInt8])
    case bits([UInt8])
    case integer(Int)
    case identifier(ASN1ObjectIdentifier)
    case bmpString(String)
    case utcTime(String)
    case null
    /// An element that is already encoded.
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

    /// The big-endian bytes of a non-negative number, without leading zeros.
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
    /// UTF-16, big-endian. For characters of the Basic Multilingual Plane, this is BMPString.
    package var bigEndianUTF16: [UInt8] {
        utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}
