// ItemResult: the results of the keychain (items and identities), and their conversion to the
// objects that the SecItem calls return.
//
// Every returned dictionary, array, string, number, date or data object is an instance of a
// Foundation class, so that the casts that work with Core Foundation results on Apple platforms
// work here.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAuthentication
internal import KeychainCore
internal import KeychainEngine

// MARK: - Results

/// A result, together with the keychain that it comes from, because the operations with a hardware
/// key are requests to that keychain.
enum FoundItem {
    case item(ItemSnapshot, in: AuthenticatingConnection)
    case identity(Identity, in: AuthenticatingConnection)

    var kind: ItemKind {
        switch self {
        case .item(let item, _): .stored(item.itemClass)
        case .identity: .identity
        }
    }

    /// The item that represents the result. For an identity, its certificate.
    var leading: ItemSnapshot {
        switch self {
        case .item(let item, _): item
        case .identity(let identity, _): identity.certificate
        }
    }

    /// The value of `kSecValueData`. For an identity, the private key. A hardware key has no data.
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
    /// - Returns: `nil` for passwords, for items of the other classes whose data was not read or is
    ///   not a certificate or supported key, and for an identity whose key doesn't match its
    ///   certificate: an item may contain any bytes and attributes.
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
                let key = try? SecKey(identity.key, in: keychain), certificate.isAbout(key)
            {
                SecIdentity(certificate: certificate, privateKey: key)
            } else {
                nil
            }
        }
    }

    /// The certificate of a certificate item or identity; `nil` if its data was not read or is not
    /// a certificate.
    var certificate: SecCertificate? {
        kind.hasCertificate ? Self.certificate(leading) : nil
    }

    private static func certificate(_ item: ItemSnapshot) -> SecCertificate? {
        item.data.flatMap { SecCertificate(der: $0) }
    }
}

extension ItemSnapshot {
    /// All attributes of the item. Attributes of the class's primary key (``ItemClass/ownKeys``)
    /// that are not set are included with empty values.
    fileprivate var attributesWithWholeKey: Attributes {
        itemClass.ownKeys.reduce(into: attributes) { attributes, name in
            attributes[name] = attributes[name] ?? .empty(of: name.kind)
        }
    }
}

// MARK: - Objects

/// Converts items to the result of a call.
struct ItemResult {
    let returns: ReturnTypes
    /// Whether the result is empty data, as in an addition, if only the data is requested and an
    /// item has none. If `false`, the result is then `nil`.
    let givesEmptyData: Bool

    /// The result of a call for the items that it found or added.
    ///
    /// - Returns: `nil` if there is nothing to return. The result is an empty array instead if
    ///   ``RequestDictionary/givesArray`` is true and ``RequestDictionary/givesNothing`` is false.
    func object(for items: [FoundItem], of request: RequestDictionary) -> NSObject? {
        if request.givesNothing {
            nil
        } else if request.givesArray {
            array(for: items)
        } else {
            items.first.flatMap { object(for: $0) }
        }
    }

    private func object(for found: FoundItem) -> NSObject? {
        switch returns {
        case []: nil
        case .ref: found.object
        case .data:
            if let data = found.data {
                NSData(data: data)
            } else {
                givesEmptyData ? NSData() : nil
            }
        case .persistentRef: persistentReference(of: found)
        default: dictionary(for: found)
        }
    }

    /// The items as an array. Items with nothing to return are omitted.
    private func array(for items: [FoundItem]) -> NSArray {
        NSArray(array: items.compactMap { object(for: $0) })
    }

    private func persistentReference(of found: FoundItem) -> NSData {
        NSData(data: PersistentReference.encoded(found.kind, found.leading.reference))
    }

    private func dictionary(for found: FoundItem) -> NSDictionary {
        var entries = Entries()
        if !returns.isDisjoint(with: [.attributes, .ref]) {
            switch found {
            case .item(let item, _): addAttributes(of: item, to: &entries)
            case .identity(let identity, _):
                // An attribute that both keys and certificates have is taken from the certificate.
                for (attribute, value) in identity.key.attributesWithWholeKey
                where !ItemClass.certificate.has(attribute) {
                    entries.set(attribute.name, value.object)
                }
                addAttributes(of: identity.certificate, to: &entries)
                // The data may have been read only for a filter. Return it only if the caller
                // requested the data or an object.
                if !returns.isDisjoint(with: [.data, .ref]), let data = identity.certificate.data {
                    entries.set("certdata", NSData(data: data))
                }
            }
        }
        if returns.contains(.ref) {
            entries.set("class", NSString(string: found.kind.name))
            if let object = found.object { entries.set("v_Ref", object) }
        }
        if returns.contains(.data), let data = found.data {
            entries.set("v_Data", NSData(data: data))
        }
        if returns.contains(.persistentRef) {
            entries.set("v_PersistentRef", persistentReference(of: found))
        }
        return entries.dictionary
    }

    private func addAttributes(of item: ItemSnapshot, to entries: inout Entries) {
        for (attribute, value) in item.attributesWithWholeKey {
            entries.set(attribute.name, value.object)
        }
        entries.set("agrp", NSString(string: item.accessGroup))
        entries.set("pdmn", NSString(string: item.protection.code))
        entries.set("sync", NSNumber(value: item.isSynchronizable ? 1 : 0))
        entries.set("tomb", NSNumber(value: item.isTombstone ? 1 : 0))
        // The user attribute is empty, because a keychain has only one user. Apple's attribute
        // dictionaries contain this key. In a query, an empty value matches every item.
        entries.set("musr", NSData())
        if let control = Self.accessControl(of: item) { entries.set("accc", control) }
        if returns.contains(.data) {
            entries.set("sha1", NSData(data: ItemDigest.sha1(of: item)))
        }
    }

    private static func accessControl(of item: ItemSnapshot) -> SecAccessControl? {
        guard !item.constraints.isEmpty else { return unconstrained[item.protection] }
        let flags = SecAccessControlCreateFlags(
            rawValue: CFOptionFlags(item.constraints.rawValue))
        return try? SecAccessControl(protection: item.protection.code, flags: flags)
    }

    /// The access control without constraints, for each protection class.
    private static let unconstrained: [ProtectionClass: SecAccessControl] = Dictionary(
        uniqueKeysWithValues: ProtectionClass.allCases.compactMap { protection in
            (try? SecAccessControl(protection: protection.code, flags: []))
                .map { (protection, $0) }
        })

    /// Collects the entries of a dictionary.
    private struct Entries {
        private var keys: [NSString] = []
        private var values: [NSObject] = []

        mutating func set(_ key: String, _ value: NSObject) {
            keys.append(NSString(string: key))
            values.append(value)
        }

        var dictionary: NSDictionary { NSDictionary(objects: values, forKeys: keys) }
    }
}

#endif
