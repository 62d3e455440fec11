// ASN1Node+Reading: what the containers of keys read out of parsed ASN.1. Nil is the answer to
// everything that has another type or is out of range; nothing here throws or traps.

package import SwiftASN1

extension ASN1Node {
    /// How many elements are read, of whatever depth. Each takes some hundred bytes of memory, and
    /// as few as two in the encoding.
    package static let elementLimit = 1 << 20

    /// The element whose encoding is `bytes`, from first to last, with ``elementLimit`` elements at
    /// the most. BER, because some programs write their containers with indefinite lengths.
    package init?(encoded bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.hasElements(upTo: Self.elementLimit), let node = try? BER.parse(bytes) else {
            return nil
        }
        self = node
    }

    /// The elements within; nil for a primitive element.
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

    /// The contents of an OCTET STRING, put together where it comes in pieces.
    package var octets: [UInt8]? {
        guard identifier == .octetString else { return nil }
        return implicitOctets
    }

    /// The contents of an OCTET STRING under another tag.
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

    /// The value of an INTEGER that fits.
    package var integer: Int? {
        try? Int(berEncoded: self)
    }

    /// Whether the element has the tag number `number` of its context.
    package func isTagged(_ number: UInt) -> Bool {
        identifier.tagClass == .contextSpecific && identifier.tagNumber == number
    }

    /// What an explicit tag of the context encloses.
    package func tagged(_ number: UInt) -> ASN1Node? {
        guard isTagged(number), let elements, elements.count == 1 else { return nil }
        return elements.first
    }
}

extension [UInt8] {
    /// Whether there are so many elements of BER at the most.
    ///
    /// - Returns: false also where a tag, a length or contents aren't whole.
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
            // What is in a constructed element comes next, whatever its length.
            guard tag & 0x20 == 0 else { continue }
            guard length <= UInt64(rest.count) else { return false }
            rest = rest.dropFirst(Int(length))
        }
        return true
    }
}
