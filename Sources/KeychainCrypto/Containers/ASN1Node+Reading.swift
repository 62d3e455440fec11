// ASN1Node+Reading: what the containers of keys read out of parsed ASN.1. Nil is the answer to
// everything that has another type or is out of range; nothing here throws or traps.

package import SwiftASN1

extension ASN1Node {
    /// The element whose encoding is `bytes`, from first to last. BER, because some programs write
    /// their containers with indefinite lengths.
    package init?(encoded bytes: some Sequence<UInt8>) {
        guard let node = try? BER.parse(Array(bytes)) else { return nil }
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
