// RequestDictionary: the contents of a request dictionary, read in one pass.
//   (1) Every entry is read once, and is understood, ignored or rejected. The status that is
//       reported doesn't depend on the order of the entries. The errors in order of precedence: too
//       many entries (`errSecParam`), an invalid class, an invalid key or value (`errSecParam`), an
//       attribute that the class doesn't have (`errSecNoSuchAttr`), something that the call doesn't
//       allow, something that is not implemented (`errSecUnimplemented`).
//   (2) Attribute values are converted here, to the types of KeychainCore.
//
// Keys are classified by length and first letter: four characters are an attribute, `c` is the
// class, `m` a match key, `r` a return key, `u` a use key, `v` a value. Keys that begin with `f`
// are ignored.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// One of the four SecItem calls.
enum ItemCall {
    case add
    case copyMatching
    case update
    case delete
}

/// A request dictionary, converted to the types of KeychainCore.
struct RequestDictionary {
    /// The maximum number of entries in a dictionary that selects items or describes a new item.
    /// The changes of an update have no limit.
    static let entryLimit = 128

    /// The value of `kSecMatchLimit`.
    enum Limit: Equatable {
        case count(Int)
        case all

        static let one = Limit.count(1)
    }

    /// The value of `kSecAttrSynchronizable`.
    enum Synchronizable: Equatable {
        case only(Bool)
        /// `kSecAttrSynchronizableAny`.
        case any
    }

    /// The kind of item. `nil` for a reference to an object on a token and for an item list, unless
    /// another entry determines the kind.
    private(set) var kind: ItemKind?
    private(set) var attributes: Attributes = [:]
    private(set) var accessGroup: String?
    private(set) var synchronizable: Synchronizable?
    private(set) var isTombstone: Bool?
    private(set) var accessControl: SecAccessControl?
    /// Whether `musr` names a user other than this keychain's.
    private(set) var namesOtherUser = false
    /// `sha1`: the digest of an item's primary key.
    private(set) var digest: Data?

    var data: Data?
    var reference: PersistentReference?
    var valueReference: ValueReference?

    var returns: ReturnTypes = []

    var limit: Limit?
    var hostOrSubdomain: String?
    /// Whether the dictionary contains any match key.
    var hasMatchKey = false
    /// Whether the dictionary contains a match key other than `kSecMatchLimit`.
    var hasMatchKeyBesideLimit = false
    /// The conditions for certificates.
    var certificateFilter = CertificateFilter()
    /// Whether the dictionary contains a match key that is an error in a search for anything other
    /// than certificates and identities.
    var matchesOnlyCertificates = false

    var hasItemList = false
    /// The objects of the item list, or `nil` if it is not an array of keys, certificates and
    /// identities.
    var itemList: [ValueReference]?
    var authentication = AuthenticationKeys()
    var tombstones = TombstonePolicy.automatic

    private var protectionCode: String?
    private var classCode: String?
    private var isClassRefused = false
    /// Attribute names that no class has.
    private var foreignAttributes: [String] = []
    private var hasAttribute = false
    private var refusal: KeychainFailure?

    /// Reads a dictionary that selects items or describes a new item.
    ///
    /// - Throws: `param`, `noSuchClass` or `noSuchAttribute`; see (1).
    init(_ dictionary: CFDictionary) throws(KeychainFailure) {
        guard dictionary.count <= Self.entryLimit else {
            throw .param("The dictionary has more than \(Self.entryLimit) entries.")
        }
        dictionary.forEachEntry { read($0, $1) }
        try resolveClass()
        if let refusal { throw refusal }
        try checkAttributes()
    }

    /// Reads the changes of an update, which may contain only attributes and data. If `kind` is
    /// `nil`, every name of four characters counts as an attribute that the class has.
    ///
    /// - Throws: `param` for a key that is not a string, an invalid value, or the app clip mark;
    ///   `noSuchAttribute` for a string key that is neither an attribute nor `kSecValueData`, and
    ///   for an attribute that the class doesn't have.
    init(changes: CFDictionary, of kind: ItemKind?) throws(KeychainFailure) {
        var other: String?
        changes.forEachEntry { key, value in
            if key == "musr" {
                // Ignored, so that a returned attribute dictionary can be passed unchanged. The
                // item keeps its user.
            } else if let key, key.utf8.count == 4 {
                readAttribute(key, value)
            } else if key == "v_Data" {
                readData(value)
            } else if let key {
                other = key
            } else {
                refuse("A key is not text.")
            }
        }
        self.kind = kind
        if let refusal { throw refusal }
        if let other { throw Self.noSuchAttribute(other) }
        try checkAttributes()
    }

    mutating func refuse(_ reason: String) {
        if refusal == nil { refusal = .param(reason) }
    }

    static func noSuchAttribute(_ name: String) -> KeychainFailure {
        KeychainFailure(.noSuchAttribute, "The class has no attribute “\(name)”.")
    }

    // MARK: - Derived values

    /// The protection class from `kSecAttrAccessible` and `kSecAttrAccessControl`, which must
    /// agree.
    var protection: ProtectionClass? {
        protectionCode.flatMap { ProtectionClass(code: $0) }
    }

    /// Whether the dictionary contains an attribute. `kSecAttrSynchronizable` with the value "any"
    /// and `nleg`, which selects a keychain, don't count.
    var namesAttribute: Bool { hasAttribute }

    /// Whether the item is marked as synchronizable but has a property that excludes
    /// synchronization.
    var contradictsSynchronizable: Bool {
        synchronizable == .only(true)
            && (attributes[.sharingGroup] != nil || accessControl?.hasConstraints == true)
    }

    // MARK: - Entries

    private mutating func read(_ key: String?, _ value: DictionaryValue) {
        guard let key else { return refuse("A key is not text.") }
        let bytes = key.utf8
        guard bytes.count > 1, let first = bytes.first else {
            return refuse("A key has fewer than two characters.")
        }
        if bytes.count == 4 { return readAttribute(key, value) }
        switch first {
        case UInt8(ascii: "c"): readClass(key, value)
        case UInt8(ascii: "f"): break
        case UInt8(ascii: "m"): readMatchKey(key, value)
        case UInt8(ascii: "r"): readReturnKey(key, value)
        case UInt8(ascii: "u"): readUseKey(key, value)
        case UInt8(ascii: "v"): readValueKey(key, value)
        default: refuse("Unknown key “\(key)”.")
        }
    }

    private mutating func readClass(_ key: String, _ value: DictionaryValue) {
        guard key == "class", case .string(let code) = value else {
            isClassRefused = true
            return
        }
        classCode = code
    }

    private mutating func resolveClass() throws(KeychainFailure) {
        if isClassRefused {
            throw .param("kSecClass is not text, or an unknown key begins with “c”.")
        }
        if let classCode {
            guard let named = ItemKind(name: classCode) else {
                throw KeychainFailure(.noSuchClass, "The class is unknown.")
            }
            kind = named
        }
        if let referred = reference?.kind {
            guard kind == nil || kind == referred else {
                throw KeychainFailure(.noSuchClass, "The reference is to an item of another class.")
            }
            kind = referred
        }
        if let referred = valueReference?.kind {
            guard kind == nil || kind == referred else {
                throw refusal ?? .param("The object in kSecValueRef is of another class.")
            }
            kind = referred
        }
        guard kind != nil || reference == .token || hasItemList else {
            throw refusal ?? .param("The class is missing.")
        }
    }

    private func checkAttributes() throws(KeychainFailure) {
        // An item list can contain keys and certificates. Each object takes only the attributes of
        // its own class, so every attribute that one of these classes has is accepted here.
        guard let kind = kind ?? (hasItemList ? .identity : nil) else { return }
        if let foreign = foreignAttributes.first { throw Self.noSuchAttribute(foreign) }
        for attribute in attributes.keys where !kind.has(attribute) {
            throw Self.noSuchAttribute(attribute.name)
        }
    }

    // MARK: - Attributes

    private mutating func readAttribute(_ name: String, _ value: DictionaryValue) {
        guard let attribute = Attribute(name: name) else {
            return readSpecialAttribute(name, value)
        }
        hasAttribute = true
        if attribute == .tokenID {
            guard case .string = value else { return refuse("The token identifier is not text.") }
        }
        if attribute == .issuer {
            guard case .data(let issuer) = value else { return refuse("The issuer is not data.") }
            // Items contain only the content of the name's DER encoding, in normalized form.
            // Callers may also pass the whole encoding.
            attributes[attribute] = .data(
                CertificateName(der: issuer)?.normalizedContent ?? issuer)
            return
        }
        guard let converted = AttributeValue(value, kind: attribute.kind) else {
            return refuse("“\(name)” does not take a value of this type.")
        }
        attributes[attribute] = converted
    }

    /// Reads the attributes that are not part of ``attributes``.
    private mutating func readSpecialAttribute(_ name: String, _ value: DictionaryValue) {
        // This key selects a keychain, but there is only one.
        if name == "nleg" { return }
        if name == "sync" { return readSynchronizable(value) }
        hasAttribute = true
        switch name {
        case "agrp":
            guard case .string(let group) = AttributeValue(value, kind: .string) else {
                return refuse("The access group is not text.")
            }
            accessGroup = group
        case "pdmn":
            guard case .string(let code) = AttributeValue(value, kind: .string),
                ProtectionClass(code: code) != nil
            else { return refuse("The protection class is unknown.") }
            setProtection(code)
        case "accc":
            guard case .object(let object) = value, let control = object as? SecAccessControl
            else { return refuse("The access control is not a SecAccessControl.") }
            accessControl = control
            setProtection(control.protection)
        case "tomb":
            guard case .number(let flag) = AttributeValue(value, kind: .number) else {
                return refuse("The tombstone mark is not a number.")
            }
            isTombstone = flag != 0
        case "musr":
            switch value {
            case .null: namesOtherUser = false
            case .uuid: namesOtherUser = true
            case .data(let user) where user.isEmpty || user.count == 16:
                namesOtherUser = !user.isEmpty
            default: refuse("The user is not the 16 bytes of a UUID.")
            }
        case "sha1":
            guard case .data(let bytes) = value, bytes.count == 20 else {
                return refuse("The digest is not 20 bytes of data.")
            }
            digest = bytes
        case "clip":
            refuse("The app clip mark can't be set or searched for.")
        default:
            foreignAttributes.append(name)
        }
    }

    private mutating func readSynchronizable(_ value: DictionaryValue) {
        switch AttributeValue(value, kind: .number) {
        case .number(let flag):
            hasAttribute = true
            synchronizable = .only(flag != 0)
        case .string("syna"):
            synchronizable = .any
        default:
            refuse("“Synchronizable” is neither a boolean nor kSecAttrSynchronizableAny.")
        }
    }

    private mutating func setProtection(_ code: String) {
        if let protectionCode, protectionCode != code {
            return refuse("The protection class differs from that of the access control.")
        }
        protectionCode = code
    }

    mutating func readData(_ value: DictionaryValue) {
        guard case .data(let bytes) = value else {
            return refuse("The value of kSecValueData is not data.")
        }
        data = bytes
    }
}

#endif
