// KeyForm: the keys that both this package and OpenSSL support, and the encodings of each side.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// A kind of key and its size.
enum KeyForm: CaseIterable, Sendable, CustomTestStringConvertible {
    case p256, p384, p521
    case rsa2048, rsa3072, rsa4096
    case ed25519, x25519

    static let elliptic: [KeyForm] = [.p256, .p384, .p521]
    static let rsa: [KeyForm] = [.rsa2048, .rsa3072, .rsa4096]

    var testDescription: String { "\(self)" }

    var kind: KeyKind {
        switch self {
        case .p256, .p384, .p521: .ellipticCurve
        case .rsa2048, .rsa3072, .rsa4096: .rsa
        case .ed25519: .ed25519
        case .x25519: .x25519
        }
    }

    var bits: Int {
        switch self {
        case .p256, .ed25519, .x25519: 256
        case .p384: 384
        case .p521: 521
        case .rsa2048: 2048
        case .rsa3072: 3072
        case .rsa4096: 4096
        }
    }

    /// The number of bytes of a coordinate, a modulus or a key.
    var byteCount: Int { (bits + 7) / 8 }

    /// The arguments of `openssl genpkey`.
    fileprivate var generation: [String] {
        switch self {
        case .p256, .p384, .p521:
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-\(bits)"]
        case .rsa2048, .rsa3072, .rsa4096:
            ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)"]
        case .ed25519: ["-algorithm", "ED25519"]
        case .x25519: ["-algorithm", "X25519"]
        }
    }

    /// The object identifier of the curve, in DER.
    fileprivate var curve: Data {
        switch self {
        case .p256: Data([0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])
        case .p384: Data([0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22])
        case .p521: Data([0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23])
        case .ed25519: Data([0x06, 0x03, 0x2B, 0x65, 0x70])
        case .x25519: Data([0x06, 0x03, 0x2B, 0x65, 0x6E])
        case .rsa2048, .rsa3072, .rsa4096: Data()
        }
    }
}

// MARK: - DER

/// A value in DER.
private func der(_ tag: UInt8, _ parts: Data...) -> Data {
    let content = parts.reduce(Data(), +)
    switch content.count {
    case ..<0x80: return Data([tag, UInt8(content.count)]) + content
    case ..<0x100: return Data([tag, 0x81, UInt8(content.count)]) + content
    default:
        return Data([tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]) + content
    }
}

extension KeyForm {
    /// Converts a private key from the form of `SecKeyCopyExternalRepresentation` to the standard
    /// form (RFC 5915, 8017, 8410).
    fileprivate func standard(privateKey bytes: Data) -> Data {
        switch kind {
        case .rsa: return bytes
        case .ellipticCurve:
            let point = Data(bytes.prefix(1 + 2 * byteCount))
            return der(
                0x30, Data([0x02, 1, 1]), der(0x04, Data(bytes.suffix(byteCount))),
                der(0xA0, curve), der(0xA1, der(0x03, Data([0]), point)))
        case .ed25519, .x25519:
            return der(0x30, Data([0x02, 1, 0]), der(0x30, curve), der(0x04, der(0x04, bytes)))
        }
    }

    /// A public key as SubjectPublicKeyInfo (RFC 5480, 8410). An RSA key is returned unchanged.
    fileprivate func standard(publicKey bytes: Data) -> Data {
        let elliptic = Data([0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01])
        return switch kind {
        case .rsa: bytes
        case .ellipticCurve:
            der(0x30, der(0x30, elliptic, curve), der(0x03, Data([0]), bytes))
        case .ed25519, .x25519: der(0x30, der(0x30, curve), der(0x03, Data([0]), bytes))
        }
    }
}

// MARK: - Files

/// A key pair of OpenSSL: `NAME.pem` is the private key, `NAME.pub` the public key.
struct OpenSSLPair {
    let openSSL: OpenSSL
    let form: KeyForm
    let name: String

    var privateFile: String { "\(name).pem" }
    var publicFile: String { "\(name).pub" }

    /// Lets OpenSSL generate a key pair.
    init(_ form: KeyForm, in openSSL: OpenSSL, name: String = "key") throws {
        self.openSSL = openSSL
        self.form = form
        self.name = name
        try openSSL.makeKey(form.generation, to: privateFile)
        try openSSL.run(["pkey", "-in", privateFile, "-pubout", "-out", publicFile])
    }

    /// Passes a private key of this package to OpenSSL, which writes the two files.
    init(_ form: KeyForm, _ key: SecKey, in openSSL: OpenSSL, name: String = "key") throws {
        self.openSSL = openSSL
        self.form = form
        self.name = name
        try openSSL.write(form.standard(privateKey: key.external()), to: "\(name).der")
        try openSSL.run(["pkey", "-inform", "DER", "-in", "\(name).der", "-out", privateFile])
        try openSSL.run(["pkey", "-in", privateFile, "-pubout", "-out", publicFile])
    }

    /// The private key, read from OpenSSL's file.
    func privateKey() throws -> SecKey {
        try key(form.kind, .privateKey, privateBytes())
    }

    /// The public key, read from OpenSSL's file.
    func publicKey() throws -> SecKey {
        try key(form.kind, .publicKey, publicBytes())
    }

    /// The private key in the form of `SecKeyCopyExternalRepresentation`.
    func privateBytes() throws -> Data {
        switch form.kind {
        case .rsa:
            return try openSSL.run(
                ["rsa", "-in", privateFile, "-traditional", "-outform", "DER"])
        case .ellipticCurve:
            let bytes = try openSSL.run(["ec", "-in", privateFile, "-outform", "DER"])
            let before = Data([0x02, 1, 1, 0x04, UInt8(form.byteCount)])
            let found = try #require(bytes.range(of: before))
            return try publicBytes() + bytes[found.upperBound...].prefix(form.byteCount)
        case .ed25519, .x25519:
            return Data(
                try openSSL.run(["pkey", "-in", privateFile, "-outform", "DER"]).suffix(32))
        }
    }

    /// The public key in the form of `SecKeyCopyExternalRepresentation`.
    func publicBytes() throws -> Data {
        if form.kind == .rsa {
            return try openSSL.run(
                ["rsa", "-in", privateFile, "-RSAPublicKey_out", "-outform", "DER"])
        }
        let bytes = try openSSL.run(["pkey", "-in", privateFile, "-pubout", "-outform", "DER"])
        return Data(
            bytes.suffix(form.kind == .ellipticCurve ? 1 + 2 * form.byteCount : form.byteCount))
    }
}

extension OpenSSL {
    /// Lets OpenSSL write a public key to a file in PEM.
    func write(_ form: KeyForm, publicKey: SecKey, to file: String) throws {
        try write(form.standard(publicKey: publicKey.external()), to: "\(file).der")
        let command = form.kind == .rsa ? ["rsa", "-RSAPublicKey_in"] : ["pkey", "-pubin"]
        try run(
            command + ["-inform", "DER", "-in", "\(file).der", "-pubout", "-out", file])
    }
}

#endif
