// FoundItem: one answer of the keychain, an item or an identity.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainModel

enum FoundItem {
    case item(Item)
    case identity(Identity)

    var kind: ItemKind {
        switch self {
        case .item(let item): .stored(item.itemClass)
        case .identity: .identity
        }
    }

    /// The item that stands for the whole: of an identity, its certificate.
    var leading: Item {
        switch self {
        case .item(let item): item
        case .identity(let identity): identity.certificate
        }
    }

    /// What `kSecValueData` holds: of an identity, the private key.
    var data: Data? {
        switch self {
        case .item(let item): item.data
        case .identity(let identity): identity.key.data
        }
    }

    /// The object for `kSecReturnRef`.
    ///
    /// - Returns: nil for passwords, and for data that are no certificate or key: an item may
    ///   hold any bytes.
    var object: NSObject? {
        switch self {
        case .item(let item):
            switch item.itemClass {
            case .certificate: Self.certificate(item)
            case .key: try? SecKey(item)
            case .genericPassword, .internetPassword: nil
            }
        case .identity(let identity):
            if let certificate = Self.certificate(identity.certificate),
                let key = try? SecKey(identity.key)
            {
                SecIdentity(certificate: certificate, privateKey: key)
            } else {
                nil
            }
        }
    }

    /// The certificate of a certificate or an identity, where data were asked for.
    var certificate: SecCertificate? {
        kind.hasCertificate ? Self.certificate(leading) : nil
    }

    private static func certificate(_ item: Item) -> SecCertificate? {
        item.data.flatMap { SecCertificate(der: $0) }
    }
}

#endif
