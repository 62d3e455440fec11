// TrustFixtures: certificate chains that several tests evaluate. They are made once.

#if !canImport(Darwin)

import Foundation

@testable import KeychainServices

/// A root, an intermediate, and leaves of several kinds.
struct TrustFixtures {
    /// The certificates, which are made on first use.
    static let shared = Result { try TrustFixtures() }

    let maker: CertificateMaker
    let root: SecCertificate
    let otherRoot: SecCertificate
    let intermediate: SecCertificate
    /// A certificate with the names `www.example.com` and `*.wild.example.com` and the address
    /// 10.0.0.1.
    let server: SecCertificate
    let client: SecCertificate
    let mail: SecCertificate

    private init() throws {
        let maker = try CertificateMaker()
        self.maker = maker
        root = try maker.make("root", subject: "/CN=Root", extensions: CertificateMaker.authority)
        otherRoot = try maker.make(
            "other", subject: "/CN=Other", extensions: CertificateMaker.authority)
        intermediate = try maker.make(
            "intermediate", subject: "/CN=Intermediate", issuer: "root",
            extensions: CertificateMaker.authority)
        server = try maker.make(
            "server", subject: "/CN=common.example.com", issuer: "intermediate",
            extensions: CertificateMaker.server(
                "DNS:www.example.com", "DNS:*.wild.example.com", "IP:10.0.0.1"))
        client = try maker.make(
            "client", subject: "/CN=Client", issuer: "intermediate",
            extensions: ["extendedKeyUsage=clientAuth"])
        mail = try maker.make(
            "mail", subject: "/CN=Mail", issuer: "intermediate",
            extensions: [
                "keyUsage=digitalSignature", "extendedKeyUsage=emailProtection",
                "subjectAltName=email:Alice@example.com",
            ])
    }
}

/// Evaluates the first certificate. The other certificates are possible issuers.
///
/// - Returns: The error, or `nil` if the first certificate is trusted.
func judge(
    _ certificates: [SecCertificate], anchors: [SecCertificate],
    _ policy: SecPolicy = SecPolicyCreateBasicX509(), at date: Date? = nil
) -> CFError? {
    var trust: SecTrust?
    guard
        unsafe SecTrustCreateWithCertificates(certificates as CFArray, policy, &trust)
            == errSecSuccess, let trust,
        SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess
    else { return CFError(status: errSecParam) }
    if let date {
        guard SecTrustSetVerifyDate(trust, date as CFDate) == errSecSuccess else {
            return CFError(status: errSecParam)
        }
    }
    var error: CFError?
    let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
    return isTrusted == (error == nil) ? error : CFError(status: errSecInternal)
}

/// Evaluates a trust object without asking for the error.
func isTrusted(_ trust: SecTrust) -> Bool {
    SecTrustEvaluateWithError(trust, nil)
}

#endif
