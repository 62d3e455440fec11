// CertificateFixtures: certificates and keys that OpenSSL makes, once for all tests.

import Foundation
import KeychainServices

/// A certificate and its private key, as objects and as bytes.
struct FixtureIdentity: Sendable {
    let certificate: SecCertificate
    let key: SecKey

    var der: Data { SecCertificateCopyData(certificate) as Data }
    var identity: SecIdentity {
        get throws {
            guard let identity = SecIdentityCreate(nil, certificate, key) else {
                throw OpenSSL.Failure(description: "not a pair")
            }
            return identity
        }
    }
}

/// Certificates of one P-256 key each.
struct CertificateFixtures: Sendable {
    /// Self-signed. Its chain: root, intermediate, two leaves.
    let root: FixtureIdentity
    let intermediate: FixtureIdentity
    let leaves: [FixtureIdentity]
    /// Self-signed, for mail; the addresses are one@ and two@example.org.
    let mail: [FixtureIdentity]
    /// Self-signed, for clients.
    let clients: [FixtureIdentity]
    /// Self-signed, for servers.
    let servers: [FixtureIdentity]

    /// From yesterday's point of view nothing is valid yet, and in two months nothing any more.
    static let dayBefore = Date(timeIntervalSinceNow: -86_400)
    static let today = Date(timeIntervalSinceNow: 3600)
    static let dayAfter = Date(timeIntervalSinceNow: 61 * 86_400)

    static func shared() throws -> CertificateFixtures { try made.get() }

    private static let made = Result { try CertificateFixtures() }

    private init() throws {
        let openSSL = try OpenSSL()
        root = try openSSL.identity("/CN=Fixture Root", signedBy: nil, isAuthority: true)
        intermediate = try openSSL.identity(
            "/CN=Fixture Intermediate", signedBy: "/CN=Fixture Root", isAuthority: true)
        leaves = try ["One", "Two"].map {
            try openSSL.identity("/CN=Leaf \($0)", signedBy: "/CN=Fixture Intermediate")
        }
        mail = try ["one", "two"].map {
            try openSSL.identity(
                "/CN=Mail \($0)", signedBy: nil, usage: "emailProtection",
                names: "email:\($0)@example.org")
        }
        clients = try ["one", "two"].map {
            try openSSL.identity("/CN=Client \($0)", signedBy: nil, usage: "clientAuth")
        }
        servers = try ["one", "two"].map {
            try openSSL.identity(
                "/CN=\($0).example.org", signedBy: nil, usage: "serverAuth",
                names: "DNS:\($0).example.org")
        }
    }
}

extension OpenSSL {
    /// A certificate for 60 days and its key, which stay in the folder under the subject.
    fileprivate func identity(
        _ subject: String, signedBy issuer: String?, isAuthority: Bool = false,
        usage: String? = nil, names: String? = nil
    ) throws -> FixtureIdentity {
        let name = Self.fileName(subject)
        try run(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", name + ".key"])
        try run(["req", "-new", "-key", name + ".key", "-subj", subject, "-out", name + ".csr"])
        var extensions = [
            "basicConstraints=critical,CA:\(isAuthority ? "TRUE" : "FALSE")",
            "subjectKeyIdentifier=hash",
        ]
        if let usage { extensions.append("extendedKeyUsage=\(usage)") }
        if let names { extensions.append("subjectAltName=\(names)") }
        try write(extensions.joined(separator: "\n") + "\n", to: name + ".ext")
        var arguments = [
            "x509", "-req", "-in", name + ".csr", "-days", "60", "-extfile", name + ".ext",
            "-out", name + ".pem",
        ]
        if let issuer {
            let issuer = Self.fileName(issuer)
            arguments += [
                "-CA", issuer + ".pem", "-CAkey", issuer + ".key", "-CAcreateserial",
            ]
        } else {
            arguments += ["-signkey", name + ".key"]
        }
        try run(arguments)
        let der = try run(["x509", "-in", name + ".pem", "-outform", "DER"])
        let privateKey = try run(["ec", "-in", name + ".key", "-outform", "DER"])
        // RFC 5915 for P-256: the scalar is at a fixed place, the public point comes last.
        let external = privateKey.suffix(65) + privateKey.dropFirst(7).prefix(32)
        let attributes: NSDictionary = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass: kSecAttrKeyClassPrivate,
        ]
        guard let certificate = SecCertificateCreateWithData(nil, der as NSData),
            let key = SecKeyCreateWithData(external as NSData, attributes, nil)
        else { throw Failure(description: "what OpenSSL made was not taken: \(subject)") }
        return FixtureIdentity(certificate: certificate, key: key)
    }

    private static func fileName(_ subject: String) -> String {
        subject.filter(\.isLetter)
    }
}
