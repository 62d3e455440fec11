// ASN1Node+Reading: reading DER whose shape is expected to be a certain one.

#if !canImport(Darwin)

internal import SwiftASN1

extension ASN1Node {
    /// The bytes are DER, and not what was to be read.
    struct Unexpected: Error {}

    /// The elements of a constructed node with this identifier.
    func children(_ identifier: ASN1Identifier) throws -> [ASN1Node] {
        guard self.identifier == identifier, case .constructed(let nodes) = content else {
            throw Unexpected()
        }
        return Array(nodes)
    }

    /// The bytes of a primitive node with this identifier.
    func primitive(_ identifier: ASN1Identifier) throws -> ArraySlice<UInt8> {
        guard self.identifier == identifier, case .primitive(let bytes) = content else {
            throw Unexpected()
        }
        return bytes
    }
}

extension ASN1Identifier {
    /// The tag `[number]`.
    static func contextSpecific(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }
}

extension ArraySlice<ASN1Node> {
    /// Takes the first node off.
    mutating func next() throws -> ASN1Node {
        guard let first else { throw ASN1Node.Unexpected() }
        removeFirst()
        return first
    }

    /// Takes the first node off if it is one of these.
    mutating func skip(where isMeant: (ASN1Identifier) -> Bool) {
        if let first, isMeant(first.identifier) { removeFirst() }
    }
}

#endif
