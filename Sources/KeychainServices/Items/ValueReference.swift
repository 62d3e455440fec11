// ValueReference: the object in `kSecValueRef`, and what it says about items.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// A key, certificate or identity by which a dictionary names items or describes a new one.
enum ValueReference {
    case key(SecKey)
    case certificate(SecCertificate)
    case identity(SecIdentity)

    /// - Returns: nil for an object that stands for no item.
    init?(_ object: AnyObject) {
        switch object {
        case let key as SecKey: self = .key(key)
        case let certificate as SecCertificate: self = .certificate(certificate)
        case let identity as SecIdentity: self = .identity(identity)
        default: return nil
        }
    }

    var kind: ItemKind {
        switch self {
        case .key: .stored(.key)
        case .certificate: .stored(.certificate)
        case .identity: .identity
        }
    }

    var key: SecKey? {
        switch self {
        case .key(let key): key
        case .certificate: nil
        case .identity(let identity): identity.privateKey
        }
    }

    var certificate: SecCertificate? {
        switch self {
        case .key: nil
        case .certificate(let certificate): certificate
        case .identity(let identity): identity.certificate
        }
    }

    /// What an item made of the object has: of an identity, the half of a class.
    func attributes(of itemClass: ItemClass) -> Attributes {
        switch itemClass {
        case .certificate:
            guard let certificate else { return [:] }
            var attributes = certificate.itemAttributes
            attributes[.label] = certificate.subjectSummary.map { .string($0) }
            return attributes
        case .key:
            guard let key else { return [:] }
            var attributes = key.itemAttributes
            // The key of an identity goes by the name of its certificate.
            attributes[.label] =
                attributes[.label] ?? certificate?.subjectSummary.map { .string($0) }
            attributes[.isPermanent] = .number(1)
            return attributes
        case .genericPassword, .internetPassword: return [:]
        }
    }

    /// The data of an item made of the object: of an identity, the half of a class.
    func data(of itemClass: ItemClass) -> Data? {
        switch itemClass {
        case .certificate: certificate?.der
        case .key: key?.itemData
        case .genericPassword, .internetPassword: nil
        }
    }

    /// What items have to have to be the one that the object stands for: its share of the primary
    /// key. What a key may be used for and the like can differ between object and item.
    var identifyingAttributes: Attributes {
        var attributes: Attributes = [:]
        if let certificate {
            let all = certificate.itemAttributes
            for name in [Attribute.certificateType, .issuer, .serialNumber] {
                attributes[name] = all[name]
            }
        }
        if let key {
            let all = key.itemAttributes
            for name in [Attribute.keyClass, .applicationLabel, .type, .keySizeInBits] {
                attributes[name] = all[name]
            }
        }
        return attributes
    }
}

#endif
