// CertificateName: a distinguished name, the text of its attributes, and its normalized form for
// comparison.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

/// The name of a certificate's issuer or subject (RFC 5280, section 4.1.2.4).
struct CertificateName: Sendable {
    /// An attribute type and its value. The value keeps its original encoding.
    struct Attribute: Sendable {
        let type: ASN1ObjectIdentifier
        let typeBytes: ArraySlice<UInt8>
        let value: ASN1Node
    }

    /// The relative distinguished names, in the order of the encoding: the most general comes
    /// first. Each is a set of attributes.
    let relativeNames: [[Attribute]]

    init(_ node: ASN1Node) throws {
        relativeNames = try node.children(.sequence).map { relativeName in
            let attributes = try relativeName.children(.set)
            guard !attributes.isEmpty else { throw ASN1Node.Unexpected() }
            return try attributes.map(Attribute.init)
        }
    }

    /// - Returns: `nil` unless the bytes are exactly one name in DER.
    init?(der: Data) {
        guard let node = try? DER.parse(Array(der)), let name = try? Self(node) else {
            return nil
        }
        self = name
    }

    /// All attributes, in the order of the name.
    var attributes: [Attribute] { relativeNames.flatMap { $0 } }

    /// The text of all attributes of a type, in the order of the name. Values that can't be read as
    /// text are omitted.
    func texts(of type: ASN1ObjectIdentifier) -> [String] {
        attributes.lazy.filter { $0.type == type }.compactMap(\.text)
    }
}

extension CertificateName.Attribute {
    fileprivate init(_ node: ASN1Node) throws {
        let parts = try node.children(.sequence)
        guard parts.count == 2 else { throw ASN1Node.Unexpected() }
        self.init(
            type: try ASN1ObjectIdentifier(derEncoded: parts[0]),
            typeBytes: parts[0].encodedBytes, value: parts[1])
    }

    /// The value as text, or `nil` if it is not a string or its bytes can't be decoded.
    var text: String? {
        guard case .primitive(let bytes) = value.content else { return nil }
        switch value.identifier {
        case .utf8String:
            return String(validating: bytes, as: UTF8.self)
        case .printableString, .ia5String, .visibleString, .numericString:
            return String(validating: bytes, as: Unicode.ASCII.self)
        case .teletexString, .videotexString, .generalString:
            // In practice, certificates don't use the character sets that the standard (X.680)
            // specifies for these types. Their text is Latin-1.
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        case .bmpString:
            return String(bytes: bytes, encoding: .utf16BigEndian)
        case .universalString:
            return String(bytes: bytes, encoding: .utf32BigEndian)
        default:
            return nil
        }
    }
}

// MARK: - Comparison

extension CertificateName {
    /// The normalized form, in which names are compared: the content of the name's sequence, with
    /// the letters of printable strings in upper case and insignificant white space removed.
    ///
    /// This is Apple's rule, from RFC 2459, section 4.1.2.4. Other string types, such as UTF-8, are
    /// not changed.
    var normalizedContent: Data {
        var content: [UInt8] = []
        for relativeName in relativeNames {
            let attributes = relativeName.flatMap { attribute in
                Self.encoded(
                    .sequence, Array(attribute.typeBytes) + Self.normalized(attribute.value))
            }
            content += Self.encoded(.set, attributes)
        }
        return Data(content)
    }

    /// ``normalizedContent`` in a SEQUENCE.
    var normalizedSequence: Data {
        Data(Self.encoded(.sequence, Array(normalizedContent)))
    }

    private static func normalized(_ value: ASN1Node) -> [UInt8] {
        guard value.identifier == .printableString, case .primitive(let bytes) = value.content
        else { return Array(value.encodedBytes) }
        let words = bytes.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let folded = words.joined(separator: [UInt8(ascii: " ")]).map { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & ~0x20 : byte
        }
        return encoded(.printableString, folded)
    }

    private static func encoded(_ identifier: ASN1Identifier, _ content: [UInt8]) -> [UInt8] {
        var serializer = DER.Serializer()
        if identifier == .printableString {
            serializer.appendPrimitiveNode(identifier: identifier) { $0 += content }
        } else {
            serializer.appendConstructedNode(identifier: identifier) {
                $0.serializeRawBytes(content)
            }
        }
        return serializer.serializedBytes
    }
}

// MARK: - Object identifiers

extension ASN1ObjectIdentifier {
    static let commonName: ASN1ObjectIdentifier = [2, 5, 4, 3]
    static let organization: ASN1ObjectIdentifier = [2, 5, 4, 10]
    static let organizationalUnit: ASN1ObjectIdentifier = [2, 5, 4, 11]
    static let nameDescription: ASN1ObjectIdentifier = [2, 5, 4, 13]
    static let emailAddress: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 1]
}

#endif
