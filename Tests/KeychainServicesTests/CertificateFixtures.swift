// CertificateFixtures: certificates and keys made by OpenSSL, once for all tests.

import Foundation
import KeychainServices

/// A certificate, as an object and in DER, and its private key.
struct FixtureIdentity: Sendable {
    let certificate: SecCertificate
    let key: SecKey

    var der: Data { SecCertificateCopyData(certificate) as Data }
    var identity: SecIdentity {
        get throws {
            guard let identity = SecIdentityCreate(nil, certificate, key) else {
                throw OpenSSL.Failure(description: "the key doesn't belong to the certificate")
            }
            return identity
        }
    }
}

/// Certificates, each with a P-256 key.
struct CertificateFixtures: Sendable {
    /// A self-signed certificate. It is the issuer of `intermediate`, and `intermediate` is the
    /// issuer of `leaves`.
    let root: FixtureIdentity
    let intermediate: FixtureIdentity
    let leaves: [FixtureIdentity]
    /// Self-signed certificates for mail, with the addresses one@example.org and two@example.org.
    let mail: [FixtureIdentity]
    /// Self-signed certificates for TLS clients.
    let clients: [FixtureIdentity]
    /// Self-signed certificates for TLS servers.
    let servers: [FixtureIdentity]

    /// On `dayBefore`, no certificate is valid yet. On `dayAfter`, all certificates have expired.
    static let dayBefore = Date(timeIntervalSinceNow: -86_400)
    static let today = Date(timeIntervalSinceNow: 3600)
    static let dayAfter = Date(timeIntervalSinceNow: 61 * 86_400)

    static func shared() throws -> CertificateFixtures { try made.get() }

    private static let made = Result { try CertificateFixtures() }

    private init() throws {
        let maker = try CertificateMaker()
        root = try maker.identity("root", "/CN=Fixture Root", isAuthority: true)
        intermediate = try maker.identity(
            "intermediate", "/CN=Fixture Intermediate", issuer: "root", isAuthority: true)
        leaves = try ["One", "Two"].map {
            try maker.identity("leaf\($0)", "/CN=Leaf \($0)", issuer: "intermediate")
        }
        mail = try ["one", "two"].map {
            try maker.identity(
                "mail\($0)", "/CN=Mail \($0)",
                extensions: [
                    "extendedKeyUsage=emailProtection", "subjectAltName=email:\($0)@example.org",
                ])
        }
        clients = try ["one", "two"].map {
            try maker.identity(
                "client\($0)", "/CN=Client \($0)", extensions: ["extendedKeyUsage=clientAuth"])
        }
        servers = try ["one", "two"].map {
            try maker.identity(
                "server\($0)", "/CN=\($0).example.org",
                extensions: CertificateMaker.server("DNS:\($0).example.org"))
        }
    }
}

extension CertificateMaker {
    /// Makes a certificate that is valid for 60 days, and its P-256 key.
    fileprivate func identity(
        _ name: String, _ subject: String, issuer: String? = nil, isAuthority: Bool = false,
        extensions: [String] = []
    ) throws -> FixtureIdentity {
        let own = isAuthority ? Self.authority : ["subjectKeyIdentifier=hash"]
        let certificate = try make(
            name, subject: subject, issuer: issuer, extensions: own + extensions, days: 60)
        let privateKey = try openSSL.run(["ec", "-in", "\(name).key", "-outform", "DER"])
        // RFC 5915 for P-256: the scalar is at a fixed offset, and the public point is at the end.
        let external = privateKey.suffix(65) + privateKey.dropFirst(7).prefix(32)
        let attributes: NSDictionary = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass: kSecAttrKeyClassPrivate,
        ]
        guard let key = SecKeyCreateWithData(external as NSData, attributes, nil) else {
            throw OpenSSL.Failure(description: "the key of \(subject) was rejected")
        }
        return FixtureIdentity(certificate: certificate, key: key)
    }
}
