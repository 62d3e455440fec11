// ItemResult: one answer of the keychain, an item or an identity, and the objects in which the
// calls give such answers back.
//
// Every object is a Foundation class instance (dictionary, array, data), so that the casts that
// work on Core Foundation results on Apple's systems work here.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAuthentication
internal import KeychainCore
internal import KeychainEngine

// MARK: - Answers

/// An answer, with the keychain that it is from: keys in hardware are used there.
enum FoundItem {
    case item(ItemSnapshot, in: AuthenticatingConnection)
    case identity(Identity, in: AuthenticatingConnection)

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

extension ItemSnapshot {
    /// All attributes, those of the class's primary key also where they are not set.
    fileprivate var attributesWithWholeKey: Attributes {
        itemClass.ownKeys.reduce(into: attributes) { attributes, name in
            attributes[name] = attributes[name] ?? .empty(of: name.kind)
        }
    }
}

// MARK: - Objects

/// How one call gives items back.
struct ItemResult {
    let returns: ReturnTypes
    /// Whether data of an item without any is nothing, or empty data as for an add.
    let givesEmptyData: Bool

    /// What a call gives back for the items that its request is about.
    ///
    /// - Returns: nil where there is nothing to give.
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

    /// The items of an answer as an array. Items with nothing to give are left out.
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
                // What both halves have is the certificate's.
                for (attribute, value) in identity.key.attributesWithWholeKey
                where !ItemClass.certificate.has(attribute) {
                    entries.set(attribute.name, value.object)
                }
                addAttributes(of: identity.certificate, to: &entries)
                // A filter has it read as well. It is data, so it is given only beside data.
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
        // Empty: a keychain has one user. A dictionary with it can be used as a query.
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

    /// For each protection class the access control without constraints.
    private static let unconstrained: [ProtectionClass: SecAccessControl] = Dictionary(
        uniqueKeysWithValues: ProtectionClass.allCases.compactMap { protection in
            (try? SecAccessControl(protection: protection.code, flags: []))
                .map { (protection, $0) }
        })

    /// The entries of a dictionary to be.
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
