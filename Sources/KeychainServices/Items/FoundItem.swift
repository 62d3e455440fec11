// FoundItem: one answer of the keychain, an item or an identity.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// An answer, with the keychain that it is from: keys in hardware are used there.
enum FoundItem {
    case item(ItemSnapshot, in: KeychainConnection)
    case identity(Identity, in: KeychainConnection)

    var kind: ItemKind {
        switch self {
        case .item(let item, _): .stored(item.itemClass)
        case .identity: .identity
        }
    }

    /// The item that stands for the whole: of an identity, its certificate.
    var leading: ItemSnapshot {
        switch self {
        case .item(let item, _): item
        case .identity(let identity, _): identity.certificate
        }
    }

    /// What `kSecValueData` holds: of an identity, the private key. A key in hardware has no data.
    var data: Data? {
        let item =
            switch self {
            case .item(let item, _): item
            case .identity(let identity, _): identity.key
            }
        let isInHardware = item.itemClass == .key && item.attributes.nameSecureEnclave
        return isInHardware ? nil : item.data
    }

    /// The object for `kSecReturnRef`.
    ///
    /// - Returns: nil for passwords, and for data that are no certificate or key: an item may
    ///   hold any bytes.
    var object: NSObject? {
        switch self {
        case .item(let item, let keychain):
            switch item.itemClass {
            case .certificate: Self.certificate(item)
            case .key: try? SecKey(item, in: keychain)
            case .genericPassword, .internetPassword: nil
            }
        case .identity(let identity, let keychain):
            if let certificate = Self.certificate(identity.certificate),
                let key = try? SecKey(identity.key, in: keychain)
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

    private static func certificate(_ item: ItemSnapshot) -> SecCertificate? {
        item.data.flatMap { SecCertificate(der: $0) }
    }
}

#endif
