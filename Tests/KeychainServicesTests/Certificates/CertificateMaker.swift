// CertificateMaker: certificates made by OpenSSL for one test or suite.

#if !canImport(Darwin)

import Foundation

@testable import KeychainServices

/// Makes keys and certificates in a temporary folder, as NAME.key and NAME.pem.
struct CertificateMaker {
    /// The kind of a key, as arguments of `openssl genpkey`.
    struct KeyKind: Hashable, Sendable {
        let arguments: [String]

        static func curve(_ name: String) -> KeyKind {
            KeyKind(arguments: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(name)"])
        }

        static func rsa(_ bitCount: Int) -> KeyKind {
            KeyKind(arguments: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bitCount)"])
        }

        static let ed25519 = KeyKind(arguments: ["-algorithm", "ED25519"])
    }

    /// The extensions of a certificate authority.
    static let authority = [
        "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign",
        "subjectKeyIdentifier=hash",
    ]

    /// The extensions of a TLS server's certificate with these subject alternative names.
    static func server(_ names: String...) -> [String] {
        ["extendedKeyUsage=serverAuth", "subjectAltName=\(names.joined(separator: ","))"]
    }

    let openSSL: OpenSSL

    init() throws {
        openSSL = try OpenSSL()
        try openSSL.write(
            "[req]\ndistinguished_name=dn\nstring_mask=utf8only\n[dn]\n", to: "utf8.cnf")
        try openSSL.write(
            "[req]\ndistinguished_name=dn\nstring_mask=default\n[dn]\n", to: "printable.cnf")
    }

    /// Makes a key and its certificate.
    ///
    /// - Parameters:
    ///   - name: The base name of the files.
    ///   - subject: The subject in OpenSSL's notation, such as `/CN=Root`.
    ///   - issuer: The base name of the files of the key that signs and of its certificate, or
    ///     `nil` for a self-signed certificate.
    ///   - extensions: One extension per element.
    ///   - key: The kind of the key.
    ///   - days: The validity period from now, in days.
    ///   - printable: Whether to encode texts as printable strings where possible, instead of
    ///     UTF-8.
    ///   - arguments: Further arguments for `openssl x509 -req`.
    /// - Returns: The certificate.
    /// - Throws: An error that contains the error output of OpenSSL, or that says that the file
    ///   isn't a certificate.
    @discardableResult
    func make(
        _ name: String, subject: String, issuer: String? = nil, extensions: [String] = [],
        key: KeyKind = .curve("P-256"), days: Int = 30, printable: Bool = false,
        arguments: [String] = []
    ) throws -> SecCertificate {
        try openSSL.makeKey(key.arguments, to: "\(name).key")
        return try certify(
            name, subject: subject, issuer: issuer, extensions: extensions, days: days,
            printable: printable, arguments: arguments)
    }

    /// Makes a certificate for an existing key.
    @discardableResult
    func certify(
        _ name: String, subject: String, issuer: String? = nil, extensions: [String] = [],
        days: Int = 30, printable: Bool = false, arguments: [String] = []
    ) throws -> SecCertificate {
        try openSSL.run([
            "req", "-new", "-key", "\(name).key", "-subj", subject, "-utf8", "-config",
            printable ? "printable.cnf" : "utf8.cnf", "-out", "\(name).csr",
        ])
        var request = ["x509", "-req", "-in", "\(name).csr", "-days", String(days)]
        if let issuer {
            request += ["-CA", "\(issuer).pem", "-CAkey", "\(issuer).key"]
        } else {
            request += ["-signkey", "\(name).key"]
        }
        if !arguments.contains("-set_serial") {
            request += ["-set_serial", String(Int.random(in: 1...Int.max))]
        }
        if !extensions.isEmpty {
            try openSSL.write(
                extensions.joined(separator: "\n") + "\n", to: "\(name).ext")
            request += ["-extfile", "\(name).ext"]
        }
        try openSSL.run(request + arguments + ["-out", "\(name).pem"])
        return try certificate(name)
    }

    /// The certificate in NAME.pem.
    func certificate(_ name: String) throws -> SecCertificate {
        let der = try der(name)
        guard let certificate = SecCertificateCreateWithData(nil, der as CFData) else {
            throw OpenSSL.Failure(description: "\(name).pem isn't a certificate")
        }
        return certificate
    }

    /// The bytes of the certificate in NAME.pem.
    func der(_ name: String) throws -> Data {
        try openSSL.run(["x509", "-in", "\(name).pem", "-outform", "DER"])
    }
}

#endif
