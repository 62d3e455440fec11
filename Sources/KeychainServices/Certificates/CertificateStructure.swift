// CertificateStructure: the fields of an X.509 certificate (RFC 5280, section 4.1), and helpers to
// read DER of an expected structure.
//   (1) Every certificate with a valid structure is accepted, whatever its algorithms, names and
//       extensions are. The code that uses these fields decides whether to accept them. The
//       `Certificate` type of swift-certificates, in contrast, rejects unknown algorithms.
//   (2) The fields contain the bytes that were read. Nothing is re-encoded.
//   (3) No input causes a trap.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

/// The fields of a certificate.
struct CertificateStructure: Sendable {
    /// An extension. `value` is the content of its OCTET STRING.
    struct Extension: Sendable {
        let identifier: ASN1ObjectIdentifier
        let isCritical: Bool
        let value: ArraySlice<UInt8>
    }

    /// The version: 1, 2 or 3.
    let version: Int
    /// The content of the INTEGER, without tag and length.
    let serialNumber: Data
    let signatureAlgorithm: ASN1ObjectIdentifier
    let issuer: CertificateName
    let subject: CertificateName
    let notBefore: Date
    let notAfter: Date
    /// The whole SubjectPublicKeyInfo, in DER.
    let publicKeyInfo: Data
    /// The key itself: a PKCS #1 RSA key, an X9.63 point, or bytes in another format that the
    /// algorithm defines.
    let publicKeyBits: Data
    let extensions: [Extension]

    /// - Returns: `nil` unless the bytes are exactly one certificate in DER.
    init?(der: Data) {
        guard let root = try? DER.parse(Array(der)),
            let parts = try? root.children(.sequence), parts.count == 3,
            let structure = try? Self(
                toBeSigned: parts[0], signatureAlgorithm: parts[1], signature: parts[2])
        else { return nil }
        self = structure
    }

    private init(
        toBeSigned: ASN1Node, signatureAlgorithm: ASN1Node, signature: ASN1Node
    ) throws {
        var fields = try toBeSigned.children(.sequence)[...]
        version = try Self.version(&fields)
        serialNumber = try Self.serialNumber(fields.next())
        _ = try Self.algorithm(fields.next())
        self.signatureAlgorithm = try Self.algorithm(signatureAlgorithm)
        _ = try ASN1BitString(derEncoded: signature)
        issuer = try CertificateName(fields.next())
        let validity = try fields.next().children(.sequence)
        guard validity.count == 2 else { throw ASN1Node.Unexpected() }
        notBefore = try Self.date(validity[0])
        notAfter = try Self.date(validity[1])
        subject = try CertificateName(fields.next())
        let key = try fields.next()
        publicKeyInfo = Data(key.encodedBytes)
        publicKeyBits = try Self.bits(ofKey: key)
        // The unique identifiers of issuer and subject are not used.
        fields.skip { $0 == .contextSpecific(1) || $0 == .contextSpecific(2) }
        fields.skip { $0 == .contextSpecific(1) || $0 == .contextSpecific(2) }
        extensions = try Self.extensions(&fields)
        guard fields.isEmpty else { throw ASN1Node.Unexpected() }
    }

    /// The value of an extension, or `nil` if the certificate doesn't have it. If an identifier
    /// occurs more than once, the first extension is used.
    func value(of identifier: ASN1ObjectIdentifier) -> ArraySlice<UInt8>? {
        extensions.first { $0.identifier == identifier }?.value
    }
}

// MARK: - Fields

extension CertificateStructure {
    /// `[0] EXPLICIT INTEGER`. If this field is absent, the version is 1. A field that contains
    /// version 1 is an error.
    private static func version(_ fields: inout ArraySlice<ASN1Node>) throws -> Int {
        guard let node = fields.first, node.identifier == .contextSpecific(0) else { return 1 }
        fields.removeFirst()
        let values = try node.children(.contextSpecific(0))
        guard values.count == 1 else { throw ASN1Node.Unexpected() }
        let bytes = try values[0].primitive(.integer)
        guard bytes.count == 1, let value = bytes.first, value == 1 || value == 2 else {
            throw ASN1Node.Unexpected()
        }
        return Int(value) + 1
    }

    /// At most 37 bytes, as Apple allows. RFC 5280 allows only 20, but some real certificates have
    /// more.
    private static func serialNumber(_ node: ASN1Node) throws -> Data {
        let bytes = try node.primitive(.integer)
        guard (1...37).contains(bytes.count) else { throw ASN1Node.Unexpected() }
        return Data(bytes)
    }

    private static func algorithm(_ node: ASN1Node) throws -> ASN1ObjectIdentifier {
        let parts = try node.children(.sequence)
        guard let first = parts.first, parts.count <= 2 else { throw ASN1Node.Unexpected() }
        return try ASN1ObjectIdentifier(derEncoded: first)
    }

    private static func bits(ofKey node: ASN1Node) throws -> Data {
        let parts = try node.children(.sequence)
        guard parts.count == 2 else { throw ASN1Node.Unexpected() }
        _ = try algorithm(parts[0])
        return Data(try ASN1BitString(derEncoded: parts[1]).bytes)
    }

    private static func date(_ node: ASN1Node) throws -> Date {
        if node.identifier == .utcTime {
            let time = try UTCTime(derEncoded: node)
            return Date(
                year: time.year, month: time.month, day: time.day,
                seconds: (time.hours * 60 + time.minutes) * 60 + time.seconds)
        }
        let time = try GeneralizedTime(derEncoded: node)
        return Date(
            year: time.year, month: time.month, day: time.day,
            seconds: (time.hours * 60 + time.minutes) * 60 + time.seconds)
    }

    private static func extensions(_ fields: inout ArraySlice<ASN1Node>) throws -> [Extension] {
        guard let node = fields.first else { return [] }
        fields.removeFirst()
        let wrapped = try node.children(.contextSpecific(3))
        guard wrapped.count == 1 else { throw ASN1Node.Unexpected() }
        let nodes = try wrapped[0].children(.sequence)
        guard !nodes.isEmpty else { throw ASN1Node.Unexpected() }
        return try nodes.map(oneExtension)
    }

    private static func oneExtension(_ node: ASN1Node) throws -> Extension {
        var parts = try node.children(.sequence)[...]
        let identifier = try ASN1ObjectIdentifier(derEncoded: parts.next())
        var isCritical = false
        if let flag = parts.first, flag.identifier == .boolean {
            // DER forbids encoding the default value explicitly, but some certificates do it.
            isCritical = try Bool(derEncoded: flag)
            parts.removeFirst()
        }
        let value = try parts.next().primitive(.octetString)
        guard parts.isEmpty else { throw ASN1Node.Unexpected() }
        return Extension(identifier: identifier, isCritical: isCritical, value: value)
    }
}

extension Date {
    /// A date of the Gregorian calendar in UTC. `month` is 1 to 12, `day` 1 to 31.
    fileprivate init(year: Int, month: Int, day: Int, seconds: Int) {
        // With years that begin in March, the leap day comes last, so that one formula counts all
        // days.
        let marchYear = month <= 2 ? year - 1 : year
        let marchMonth = (month + 9) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        // There are 719468 days between 0000-03-01 and 1970-01-01.
        let days = marchYear * 365 + leapDays + dayOfYear - 719_468
        self.init(timeIntervalSince1970: Double(days) * 86_400 + Double(seconds))
    }
}

// MARK: - DER

extension ASN1Node {
    /// The DER is valid, but doesn't have the expected structure.
    struct Unexpected: Error {}

    /// The elements of this node, which must be constructed and have the given identifier.
    func children(_ identifier: ASN1Identifier) throws -> [ASN1Node] {
        guard self.identifier == identifier, case .constructed(let nodes) = content else {
            throw Unexpected()
        }
        return Array(nodes)
    }

    /// The bytes of this node, which must be primitive and have the given identifier.
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
    /// Removes and returns the first node.
    mutating func next() throws -> ASN1Node {
        guard let first else { throw ASN1Node.Unexpected() }
        removeFirst()
        return first
    }

    /// Removes the first node if its identifier satisfies the predicate.
    mutating func skip(where isMeant: (ASN1Identifier) -> Bool) {
        if let first, isMeant(first.identifier) { removeFirst() }
    }
}

#endif
