// ExternalKey: keys and certificates made by OpenSSL for the tests of import and export, and
// wrappers of `SecItemImport` and `SecItemExport` without pointers.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// A kind of key that OpenSSL can make.
enum ExternalKeyKind: String, CaseIterable, CustomTestStringConvertible {
    case rsa2048, rsa3072, p256, p384, p521, ed25519, x25519

    var testDescription: String { rawValue }

    /// The arguments of `openssl genpkey`.
    var arguments: [String] {
        switch self {
        case .rsa2048: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        case .rsa3072: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"]
        case .p256: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        case .p384: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
        case .p521: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"]
        case .ed25519: ["-algorithm", "ED25519"]
        case .x25519: ["-algorithm", "X25519"]
        }
    }

    /// The PEM label of a private key in the form that OpenSSL calls traditional.
    var traditionalLabel: String {
        switch self {
        case .rsa2048, .rsa3072: "RSA PRIVATE KEY"
        case .p256, .p384, .p521: "EC PRIVATE KEY"
        // These kinds of key have no traditional form. OpenSSL writes PKCS #8 instead.
        case .ed25519, .x25519: "PRIVATE KEY"
        }
    }

    /// Whether the key has a traditional form. A key without this form can't be imported if it is
    /// encrypted with an older cipher.
    var hasTraditionalForm: Bool { traditionalLabel != "PRIVATE KEY" }

    /// Whether the key can sign, and can therefore have a self-signed certificate.
    var signs: Bool { self != .x25519 }

    static let signing = allCases.filter(\.signs)
}

extension OpenSSL {
    /// Makes a private key in the file NAME.key, as PKCS #8 in PEM.
    func makeKey(_ kind: ExternalKeyKind, _ name: String = "own") throws {
        try makeKey(kind.arguments, to: name + ".key")
    }

    /// Makes a certificate NAME.pem for the key NAME.key, signed with the issuer's key or
    /// self-signed.
    func makeCertificate(
        _ name: String = "own", signedBy issuer: String? = nil, isAuthority: Bool = false
    ) throws {
        if let issuer {
            try run([
                "req", "-new", "-key", name + ".key", "-subj", "/CN=" + name, "-out",
                name + ".csr",
            ])
            try write(
                """
                basicConstraints=critical,CA:\(isAuthority ? "TRUE" : "FALSE")
                subjectKeyIdentifier=hash
                """, to: "extensions")
            try run([
                "x509", "-req", "-in", name + ".csr", "-CA", issuer + ".pem", "-CAkey",
                issuer + ".key", "-set_serial", "7", "-days", "30", "-out", name + ".pem",
                "-extfile", "extensions",
            ])
        } else {
            try run([
                "req", "-x509", "-new", "-key", name + ".key", "-subj", "/CN=" + name, "-days",
                "30", "-out", name + ".pem",
            ])
        }
    }

    /// The public key of a private key in any form, as SubjectPublicKeyInfo. Tests compare these
    /// bytes to find out whether two keys are the same.
    func publicKey(of file: String, _ arguments: [String] = []) throws -> Data {
        try run(["pkey", "-in", file, "-pubout", "-outform", "DER"] + arguments)
    }

    /// A certificate in DER.
    func certificate(_ name: String = "own") throws -> Data {
        try run(["x509", "-in", name + ".pem", "-outform", "DER"])
    }
}

/// The result of `SecItemImport`.
struct Imported {
    var status: OSStatus
    var items: [AnyObject]
    var format: SecExternalFormat
    var type: SecExternalItemType

    /// Imports data.
    init(
        _ data: Data, name: String? = nil, format: SecExternalFormat = .formatUnknown,
        type: SecExternalItemType = .itemTypeUnknown, flags: SecKeyImportExportFlags = [],
        passphrase: AnyObject? = nil
    ) {
        var parameters = SecItemImportExportKeyParameters()
        parameters.flags = flags
        self.format = format
        self.type = type
        var array: CFArray?
        status = errSecSuccess
        items = []
        // SAFETY: passphrase and variables outlive the call.
        unsafe parameters.passphrase = passphrase.map { unsafe Unmanaged.passUnretained($0) }
        status = withExtendedLifetime(passphrase) {
            unsafe SecItemImport(
                data as NSData, name as NSString?, &self.format, &self.type, [], &parameters, nil,
                &array)
        }
        items = array.map { $0.map { $0 as AnyObject } } ?? []
    }

    var keys: [SecKey] { items.compactMap { $0 as? SecKey } }
    var certificates: [SecCertificate] { items.compactMap { $0 as? SecCertificate } }
    var identities: [SecIdentity] { items.compactMap { $0 as? SecIdentity } }
}

/// Exports items.
///
/// - Throws: ``ExportFailure`` with the status.
func exported(
    _ items: AnyObject, _ format: SecExternalFormat, pem: Bool = false,
    passphrase: AnyObject? = nil
) throws -> Data {
    var parameters = SecItemImportExportKeyParameters()
    var data: CFData?
    // SAFETY: passphrase and variables outlive the call.
    unsafe parameters.passphrase = passphrase.map { unsafe Unmanaged.passUnretained($0) }
    let status = withExtendedLifetime(passphrase) {
        unsafe SecItemExport(items, format, pem ? .pemArmour : [], &parameters, &data)
    }
    guard status == errSecSuccess, let data else { throw ExportFailure(status: status) }
    return data as Data
}

/// A status other than success.
struct ExportFailure: Error, Equatable {
    let status: OSStatus
}

extension SecKey {
    /// The public key as SubjectPublicKeyInfo, which `SecItemExport` returns.
    var exportedPublicKey: Data {
        get throws {
            let publicKey = try #require(SecKeyCopyPublicKey(self))
            return try exported(publicKey, .formatOpenSSL)
        }
    }
}

#endif
