// PKCS12Reader: reads the contents of a container.
//   (1) The contents are not parsed until the authentication code has been verified.
//   (2) Certificates and keys keep the container's order.

import KeychainCore
import SwiftASN1

/// Reads a single container.
struct PKCS12Reader {
    private let password: PKCS12Password
    private var contents = PKCS12Contents()
    private var budget: WorkBudget

    /// The maximum nesting depth of bags.
    private static let depthLimit = 4

    private init(password: PKCS12Password, budget: WorkBudget) {
        self.password = password
        self.budget = budget
    }

    /// Reads a container, see ``PKCS12/open(_:password:within:)``.
    static func read(
        _ bytes: [UInt8], password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> PKCS12Contents {
        guard let container = ASN1Node(encoded: bytes)?.sequence,
            (2...3).contains(container.count), container[0].integer == 3,
            let safe = content(of: container[1], type: ContentType.data)?.octets
        else { throw damage("The data is not a PKCS #12 container.") }
        guard container.count == 3 else {
            throw damage("The PKCS #12 container has no authentication code.")
        }
        let code = try AuthenticationCode(container[2])
        // Programs disagree on whether an empty password is a password or none, so both are tried.
        let candidates =
            [PKCS12Password(text: password)]
            + (password.isEmpty ? [PKCS12Password(text: nil)] : [])
        for candidate in candidates {
            try budget.take(code.rounds)
            guard code.isRight(for: safe, password: candidate) else { continue }
            var reader = PKCS12Reader(password: candidate, budget: budget)
            try reader.readSafe(safe)
            budget = reader.budget
            return reader.contents
        }
        throw KeychainFailure(
            .pkcs12VerifyFailure,
            "The passphrase of the PKCS #12 container is wrong, or the container is damaged.")
    }

    private mutating func readSafe(_ bytes: [UInt8]) throws(KeychainFailure) {
        guard let parts = ASN1Node(encoded: bytes)?.sequence else {
            throw Self.damage("The PKCS #12 container has no list of contents.")
        }
        for part in parts {
            if let plain = Self.content(of: part, type: ContentType.data)?.octets {
                try readBags(encoded: plain, depth: 0)
            } else if let message = Self.content(of: part, type: ContentType.encryptedData) {
                try readEncrypted(message)
            } else {
                throw KeychainFailure(
                    .unsupportedFormat,
                    "The PKCS #12 container has contents of a type that is not supported, such as "
                        + "contents encrypted to a public key.")
            }
        }
    }

    private mutating func readEncrypted(_ message: ASN1Node) throws(KeychainFailure) {
        guard let data = EncryptedContents(message) else {
            throw Self.damage("Encrypted contents of the PKCS #12 container are damaged.")
        }
        guard let scheme = PBES2(algorithm: data.algorithm) else {
            contents.certificates += try OlderEncryption.certificates(
                in: data, password: password, within: &budget)
            return
        }
        try budget.take(scheme.rounds)
        guard let plain = scheme.decrypt(data.ciphertext, password: password.utf8) else {
            throw Self.damage("Contents of the PKCS #12 container can't be decrypted.")
        }
        try readBags(encoded: plain, depth: 0)
    }

    private mutating func readBags(encoded bytes: [UInt8], depth: Int) throws(KeychainFailure) {
        guard let bags = ASN1Node(encoded: bytes)?.sequence else {
            throw Self.damage("Contents of the PKCS #12 container are damaged.")
        }
        try readBags(bags, depth: depth)
    }

    private mutating func readBags(_ bags: [ASN1Node], depth: Int) throws(KeychainFailure) {
        for bag in bags {
            guard let parts = bag.sequence, (2...3).contains(parts.count),
                let type = parts[0].objectIdentifier, let value = parts[1].tagged(0)
            else { throw Self.damage("An entry of the PKCS #12 container is damaged.") }
            let attributes = BagAttributes(parts.count == 3 ? parts[2] : nil)
            switch type {
            case BagType.key:
                try add(key: Array(value.encodedBytes), attributes)
            case BagType.shroudedKey:
                let key = try open(value)
                try add(key: key, attributes)
            case BagType.certificate:
                try add(certificate: value, attributes)
            case BagType.safeContents:
                guard depth < Self.depthLimit, let inner = value.sequence else {
                    throw Self.damage(
                        "Nested entries of the PKCS #12 container are damaged or too deep.")
                }
                try readBags(inner, depth: depth + 1)
            default:
                // Revocation lists and secrets, for which the keychain has no item class, and
                // entries of unknown types.
                break
            }
        }
    }

    private mutating func open(_ value: ASN1Node) throws(KeychainFailure) -> [UInt8] {
        guard let key = EncryptedPrivateKey(value) else {
            throw Self.damage("A private key of the PKCS #12 container is damaged.")
        }
        if key.isSupported { return try key.open(password: password.utf8, within: &budget) }
        return try OlderEncryption.open(
            key, password: password.text ?? "", within: &budget)
    }

    private mutating func add(
        key bytes: [UInt8], _ attributes: BagAttributes
    ) throws(KeychainFailure) {
        guard PrivateKeyInfo(encoded: bytes) != nil else {
            throw Self.damage("A private key of the PKCS #12 container is damaged.")
        }
        contents.keys.append(
            .init(
                privateKeyInfo: bytes, name: attributes.name, localKeyID: attributes.localKeyID))
    }

    private mutating func add(
        certificate value: ASN1Node, _ attributes: BagAttributes
    ) throws(KeychainFailure) {
        guard let parts = value.sequence, parts.count == 2,
            let type = parts[0].objectIdentifier
        else { throw Self.damage("A certificate of the PKCS #12 container is damaged.") }
        // The only other type, the SDSI certificate, was never in use.
        guard type == BagType.x509Certificate else { return }
        guard let der = parts[1].tagged(0)?.octets else {
            throw Self.damage("A certificate of the PKCS #12 container is damaged.")
        }
        contents.certificates.append(
            .init(der: der, name: attributes.name, localKeyID: attributes.localKeyID))
    }

    /// The content of a ContentInfo, or `nil` if it has another type.
    private static func content(of node: ASN1Node, type: ASN1ObjectIdentifier) -> ASN1Node? {
        guard let parts = node.sequence, parts.count == 2, parts[0].objectIdentifier == type else {
            return nil
        }
        return parts[1].tagged(0)
    }

    static func damage(_ reason: String) -> KeychainFailure {
        KeychainFailure(.decode, reason)
    }
}

/// EncryptedData: contents encrypted with a password.
struct EncryptedContents {
    let algorithm: ASN1Node
    let ciphertext: [UInt8]

    init?(_ message: ASN1Node) {
        guard let parts = message.sequence, parts.count >= 2,
            let information = parts[1].sequence, information.count == 3,
            information[0].objectIdentifier == ContentType.data, information[2].isTagged(0),
            let ciphertext = information[2].implicitOctets
        else { return nil }
        algorithm = information[1]
        self.ciphertext = ciphertext
    }
}

/// MacData: the authentication code of the contents, with a key derived from the password.
private struct AuthenticationCode {
    private let hash: PasswordHash
    private let code: [UInt8]
    private let salt: [UInt8]
    let rounds: Int

    init(_ node: ASN1Node) throws(KeychainFailure) {
        guard let parts = node.sequence, (2...3).contains(parts.count),
            let information = parts[0].sequence, information.count == 2,
            let digest = information[0].sequence?.first?.objectIdentifier,
            let code = information[1].octets, let salt = parts[1].octets,
            let rounds = parts.count == 3 ? parts[2].integer : 1
        else {
            throw PKCS12Reader.damage("The authentication code of the container is damaged.")
        }
        guard let hash = PasswordHash.allCases.first(where: { $0.digestIdentifier == digest }),
            (1...PasswordHash.roundLimit).contains(rounds)
        else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The PKCS #12 container uses a digest that is not supported, or requires too much "
                    + "computation.")
        }
        self.hash = hash
        self.code = code
        self.salt = salt
        self.rounds = rounds
    }

    func isRight(for safe: [UInt8], password: PKCS12Password) -> Bool {
        let right = hash.pkcs12Code(
            of: safe, password: password.wide, salt: salt, rounds: rounds)
        guard let right, right.count == code.count else { return false }
        return zip(right, code).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The attributes of a bag that are used.
private struct BagAttributes {
    var name: String?
    var localKeyID: [UInt8]?

    init(_ node: ASN1Node?) {
        for attribute in node?.set ?? [] {
            guard let parts = attribute.sequence, parts.count == 2,
                let value = parts[1].set?.first
            else { continue }
            switch parts[0].objectIdentifier {
            case BagAttribute.localKeyID: localKeyID = value.octets
            case BagAttribute.friendlyName:
                guard value.identifier == .bmpString, let bytes = value.implicitOctets else {
                    continue
                }
                let units = stride(from: 0, to: bytes.count - bytes.count % 2, by: 2).map {
                    UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
                }
                name = String(decoding: units, as: UTF16.self)
            default: break
            }
        }
    }
}
