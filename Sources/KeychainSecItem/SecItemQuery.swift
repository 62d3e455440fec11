// SecItemQuery: builds the dictionaries that this module passes to the SecItem functions, and reads
// those that they return.
//   (1) Each call gets a new dictionary; none is used twice.
//   (2) The dictionary of every query and addition selects the data-protection keychain, and sets
//       the class and `kSecAttrSynchronizable`, so that a call never affects more items than the
//       request means. Only the search for one key by its reference omits
//       `kSecAttrSynchronizable`.
//   (3) The keys of the dictionaries are Apple's constants, never literals.

import Foundation
import KeychainCore

#if canImport(Darwin)
import KeychainServicesDarwin
#else
import KeychainServices
#endif

/// Builds and reads the dictionaries of the SecItem functions.
enum SecItemQuery {
    typealias Dictionary = [CFString: Any]

    // MARK: Requests

    /// The dictionary that selects the items of a query.
    static func query(_ query: ItemQuery) throws(KeychainFailure) -> Dictionary {
        guard !query.isTombstone, query.hostOrSubdomain == nil else {
            throw SecItemHandler.unimplemented
        }
        var dictionary = try dictionary(query.itemClass, query.attributes)
        dictionary[kSecAttrSynchronizable] =
            query.isSynchronizable.map { $0 as Any } ?? kSecAttrSynchronizableAny
        if let group = query.accessGroup { dictionary[kSecAttrAccessGroup] = group }
        if let protection = query.protection {
            dictionary[kSecAttrAccessible] = protection.code
        }
        if let reference = query.reference {
            dictionary[kSecValuePersistentRef] = reference.persistent(of: query.itemClass)
        }
        return dictionary
    }

    /// The dictionary of a search. It always requests the attributes and persistent references,
    /// which identify items.
    static func search(
        _ query: ItemQuery, _ retrieval: Retrieval
    ) throws(KeychainFailure) -> Dictionary {
        guard !retrieval.skipsConstrained else { throw SecItemHandler.unimplemented }
        var search = try self.query(query)
        let limit: Any =
            switch retrieval.limit {
            case 1: kSecMatchLimitOne
            case let limit?: limit
            case nil: kSecMatchLimitAll
            }
        search[kSecMatchLimit] = limit
        search[kSecReturnAttributes] = true
        search[kSecReturnPersistentRef] = true
        if retrieval.includesData { search[kSecReturnData] = true }
        return search
    }

    /// The dictionary of a new item. It requests the attributes and the persistent reference of the
    /// added item.
    static func addition(_ item: NewItem) throws(KeychainFailure) -> Dictionary {
        guard !item.isTombstone, !item.keepsExisting else { throw SecItemHandler.unimplemented }
        var addition = try dictionary(item.itemClass, item.attributes)
        addition[kSecAttrSynchronizable] = item.isSynchronizable
        if let group = item.accessGroup { addition[kSecAttrAccessGroup] = group }
        if let data = item.data { addition[kSecValueData] = data }
        try set(item.protection, item.constraints, in: &addition)
        addition[kSecReturnAttributes] = true
        addition[kSecReturnPersistentRef] = true
        return addition
    }

    /// The second dictionary of an update, which may contain only attributes and the secret.
    static func changes(_ changes: ItemChanges) throws(KeychainFailure) -> Dictionary {
        guard changes.isTombstone == nil else { throw SecItemHandler.unimplemented }
        var dictionary: Dictionary = [:]
        try set(changes.attributes, in: &dictionary)
        if let group = changes.accessGroup { dictionary[kSecAttrAccessGroup] = group }
        if let isSynchronizable = changes.isSynchronizable {
            dictionary[kSecAttrSynchronizable] = isSynchronizable
        }
        if let data = changes.data { dictionary[kSecValueData] = data }
        if let protection = changes.protection {
            try set(protection, changes.constraints ?? [], in: &dictionary)
        } else if changes.constraints != nil {
            throw SecItemHandler.unimplemented
        }
        return dictionary
    }

    /// The parameters of a new hardware key, which is not stored.
    static func newKey(_ key: NewSecureEnclaveKey) throws(KeychainFailure) -> Dictionary {
        let own: Dictionary = [
            kSecAttrIsPermanent: false,
            kSecAttrAccessControl: try control(key.protection, key.constraints),
            kSecUseDataProtectionKeychain: true,
        ]
        return [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecPrivateKeyAttrs: own,
        ]
    }

    /// The dictionary that stores a hardware key. Of `item.attributes`, it contains only the label,
    /// application label and application tag; the key itself supplies the others.
    static func addition(
        _ item: NewItem, of key: SecKey
    ) throws(KeychainFailure) -> Dictionary {
        var item = item
        let names: Set<Attribute> = [.label, .applicationLabel, .applicationTag]
        item.attributes = item.attributes.filter { names.contains($0.key) }
        item.data = nil
        var addition = try addition(item)
        addition[kSecValueRef] = key
        return addition
    }

    /// The search that finds a key object by its persistent reference.
    static func key(withReference reference: Data) -> Dictionary {
        [
            kSecClass: kSecClassKey,
            kSecValuePersistentRef: reference,
            kSecMatchLimit: kSecMatchLimitOne,
            kSecReturnRef: true,
            kSecUseDataProtectionKeychain: true,
        ]
    }

    // MARK: Parts

    private static func dictionary(
        _ itemClass: ItemClass, _ attributes: Attributes
    ) throws(KeychainFailure) -> Dictionary {
        var dictionary: Dictionary = [kSecUseDataProtectionKeychain: true]
        switch itemClass {
        case .genericPassword: dictionary[kSecClass] = kSecClassGenericPassword
        case .internetPassword: dictionary[kSecClass] = kSecClassInternetPassword
        case .key: dictionary[kSecClass] = kSecClassKey
        default: throw SecItemHandler.unimplemented
        }
        try set(attributes, in: &dictionary)
        return dictionary
    }

    private static func set(
        _ attributes: Attributes, in dictionary: inout Dictionary
    ) throws(KeychainFailure) {
        for (attribute, value) in attributes {
            guard let constant = attribute.constant else { throw SecItemHandler.unimplemented }
            dictionary[constant] = value.object(for: attribute)
        }
    }

    /// Sets the protection class and constraints. Apple documents `kSecAttrAccessible` and
    /// `kSecAttrAccessControl` as mutually exclusive, so only one of them is set.
    private static func set(
        _ protection: ProtectionClass, _ constraints: AccessConstraints,
        in dictionary: inout Dictionary
    ) throws(KeychainFailure) {
        if constraints.isEmpty {
            dictionary[kSecAttrAccessible] = protection.code
        } else {
            dictionary[kSecAttrAccessControl] = try control(protection, constraints)
        }
    }

    /// - Throws: `param` if the constraints can't be combined, or one of them is unknown.
    private static func control(
        _ protection: ProtectionClass, _ constraints: AccessConstraints
    ) throws(KeychainFailure) -> SecAccessControl {
        // `AccessConstraints` uses Apple's bit values.
        let flags = SecAccessControlCreateFlags(rawValue: CFOptionFlags(constraints.rawValue))
        let control = SecAccessControlCreateWithFlags(
            nil, protection.code as CFString, flags, nil)
        guard let control else {
            throw .param("These access constraints are unknown or can't be combined.")
        }
        return control
    }

    // MARK: Results

    /// The item that a dictionary of a result describes.
    static func item(
        _ result: NSDictionary, of itemClass: ItemClass
    ) throws(KeychainFailure) -> ItemSnapshot {
        guard let protection = ProtectionClass(code: result[kSecAttrAccessible] as? String ?? ""),
            let accessGroup = result[kSecAttrAccessGroup] as? String,
            let reference = (result[kSecValuePersistentRef] as? Data).flatMap({
                ItemReference(persistent: $0)
            })
        else { throw SecItemHandler.unexpectedResult }
        var attributes: Attributes = [:]
        for attribute in Attribute.allCases {
            guard let constant = attribute.constant else { continue }
            attributes[attribute] = AttributeValue(result[constant])
        }
        guard attributes[.creationDate] != nil, attributes[.modificationDate] != nil else {
            throw SecItemHandler.unexpectedResult
        }
        let data = result[kSecValueData] as? Data
        let constraints = constraints(of: result[kSecAttrAccessControl], protection)
        var item = ItemSnapshot(
            itemClass: itemClass, reference: reference, attributes: attributes,
            accessGroup: accessGroup, protection: protection, constraints: constraints ?? [],
            isSynchronizable: (result[kSecAttrSynchronizable] as? NSNumber)?.boolValue ?? false,
            isTombstone: false, hasData: data != nil, data: data)
        item.constraintsAreKnown = constraints != nil
        return item
    }

    /// The constraints of an item's access control, or `nil` if they can't be identified.
    ///
    /// No function reads the contents of an access control. Two access controls are equal if they
    /// have the same contents, so the item's access control is compared with each one that
    /// `Keychain` can create for a password. Two kinds are equal to none of these: the access
    /// control of a usable hardware key and, on Apple's systems, the one that `SecItemAdd` gives to
    /// an item without constraints.
    private static func constraints(
        of object: Any?, _ protection: ProtectionClass
    ) -> AccessConstraints? {
        guard let object = object as? NSObject else { return nil }
        return comparable.first { constraints in
            guard let one = try? control(protection, constraints) else { return false }
            return object.isEqual(one)
        }
    }

    private static let comparable: [AccessConstraints] = {
        let presence: [AccessConstraints] = [
            [], .userPresence, .devicePasscode, .biometryAny, .biometryCurrentSet,
        ]
        return presence + presence.map { $0.union(.applicationPassword) }
    }()
}

extension Attribute {
    /// Apple's constant for the attribute, or `nil` if no request of the Swift API uses it.
    fileprivate var constant: CFString? {
        switch self {
        case .creationDate: kSecAttrCreationDate
        case .modificationDate: kSecAttrModificationDate
        case .label: kSecAttrLabel
        case .account: kSecAttrAccount
        case .description: kSecAttrDescription
        case .comment: kSecAttrComment
        case .service: kSecAttrService
        case .generic: kSecAttrGeneric
        case .securityDomain: kSecAttrSecurityDomain
        case .server: kSecAttrServer
        case .protocolType: kSecAttrProtocol
        case .authenticationType: kSecAttrAuthenticationType
        case .port: kSecAttrPort
        case .path: kSecAttrPath
        case .keyClass: kSecAttrKeyClass
        case .tokenID: kSecAttrTokenID
        case .applicationLabel: kSecAttrApplicationLabel
        case .applicationTag: kSecAttrApplicationTag
        default: nil
        }
    }
}

extension AttributeValue {
    fileprivate func object(for attribute: Attribute) -> Any {
        switch self {
        case .number(0) where attribute == .keyClass: kSecAttrKeyClassPublic
        case .number(1) where attribute == .keyClass: kSecAttrKeyClassPrivate
        case .string(let text): text
        case .data(let data): data
        case .number(let number): NSNumber(value: number)
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        }
    }

    /// - Returns: `nil` if the object can't be an attribute's value.
    fileprivate init?(_ object: Any?) {
        switch object {
        case let text as String: self = .string(text)
        case let data as Data: self = .data(data)
        case let date as Date: self = .date(date.timeIntervalSinceReferenceDate)
        case let number as NSNumber: self = .number(number.int64Value)
        default: return nil
        }
    }
}
