// ItemReferences: the ways in which a dictionary refers to items: the class in `kSecClass`, the
// object in `kSecValueRef`, and the bytes in `kSecValuePersistentRef`.
//
// The bytes of a persistent reference:
//
//   OFFSET  SIZE  FIELD
//   0       4     class, the characters of its kSecClass… constant
//   4       16    the item's reference; for an identity, that of its certificate
//
// Apple has two more formats, which never refer to an item of this keychain: 12 bytes, with a class
// and a row number, and `tkpr` followed by the DER of an object on a token.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// A class of stored items, or identities, which are not stored.
enum ItemKind: Equatable {
    case stored(ItemClass)
    case identity

    /// - Parameter name: The value of a `kSecClass…` constant.
    init?(name: String) {
        if name == "idnt" {
            self = .identity
        } else if let itemClass = ItemClass(name: name) {
            self = .stored(itemClass)
        } else {
            return nil
        }
    }

    /// The value of the `kSecClass…` constant.
    var name: String {
        switch self {
        case .stored(let itemClass): itemClass.name
        case .identity: "idnt"
        }
    }

    /// Whether items of this kind have the attribute. An identity has the attributes of its
    /// certificate and of its key.
    func has(_ attribute: Attribute) -> Bool {
        switch self {
        case .stored(let itemClass): itemClass.has(attribute)
        case .identity: ItemClass.certificate.has(attribute) || ItemClass.key.has(attribute)
        }
    }

    /// Whether items of this kind contain a certificate.
    var hasCertificate: Bool { self == .identity || self == .stored(.certificate) }

    /// Whether an object can represent items of this kind. Passwords have no objects.
    var hasObject: Bool { hasCertificate || self == .stored(.key) }
}

extension KeychainFailure {
    /// The failure for a feature of Apple's that is not implemented.
    static func notImplemented(_ what: String) -> KeychainFailure {
        KeychainFailure(.unimplemented, "Not implemented: \(what).")
    }
}

// MARK: - Objects

/// A key, certificate or identity object by which a dictionary refers to existing items or
/// describes new items.
enum ValueReference {
    case key(SecKey)
    case certificate(SecCertificate)
    case identity(SecIdentity)

    /// - Returns: `nil` for an object that can't represent an item.
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

    /// The attributes of a new item created from the object. An identity yields two items;
    /// `itemClass` selects one.
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
            // The key of an identity gets the name of its certificate, unless it has a label.
            attributes[.label] =
                attributes[.label] ?? certificate?.subjectSummary.map { .string($0) }
            attributes[.isPermanent] = .number(1)
            return attributes
        case .genericPassword, .internetPassword: return [:]
        }
    }

    /// The data of a new item created from the object. An identity yields two items; `itemClass`
    /// selects one.
    func data(of itemClass: ItemClass) -> Data? {
        switch itemClass {
        case .certificate: certificate?.der
        case .key: key?.itemData
        case .genericPassword, .internetPassword: nil
        }
    }

    /// The attributes by which a search finds the items that this object represents: type, issuer
    /// and serial number of a certificate; class, application label, type and size of a key. Other
    /// attributes, such as a key's permitted uses, may differ between object and item.
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

// MARK: - Persistent references

/// A decoded persistent reference.
enum PersistentReference: Equatable {
    case item(ItemClass, ItemReference)
    case identity(ItemReference)
    /// This reference and ``token`` are well-formed, but never refer to an item of this keychain.
    case rowNumber(ItemKind)
    case token

    private static let codeByteCount = 4
    private static let rowNumberByteCount = 8

    /// - Returns: `nil` if the bytes are not a persistent reference.
    init?(encoded bytes: Data) {
        guard bytes.count > Self.codeByteCount,
            let code = String(validating: bytes.prefix(Self.codeByteCount), as: UTF8.self)
        else { return nil }
        let rest = bytes.dropFirst(Self.codeByteCount)
        if code == "tkpr" {
            self = .token
            return
        }
        guard rest.count == ItemReference.byteCount || rest.count == Self.rowNumberByteCount,
            let kind = ItemKind(name: code)
        else { return nil }
        switch (kind, ItemReference(bytes: Array(rest))) {
        case (_, nil): self = .rowNumber(kind)
        case (.stored(let itemClass), let reference?): self = .item(itemClass, reference)
        case (.identity, let reference?): self = .identity(reference)
        }
    }

    /// The encoded reference of an item.
    static func encoded(_ kind: ItemKind, _ reference: ItemReference) -> Data {
        Data(kind.name.utf8) + reference.bytes
    }

    /// The kind of the item, if the reference contains it.
    var kind: ItemKind? {
        switch self {
        case .item(let itemClass, _): .stored(itemClass)
        case .identity: .identity
        case .rowNumber(let kind): kind
        case .token: nil
        }
    }

    /// The reference of the item, or of the identity's certificate.
    var itemReference: ItemReference? {
        switch self {
        case .item(_, let reference), .identity(let reference): reference
        case .rowNumber, .token: nil
        }
    }
}

#endif
