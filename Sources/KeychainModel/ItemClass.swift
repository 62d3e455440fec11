// ItemClass: the classes of items, which attributes each has, and which make an item unique.
// Source of the table: Apple's SecItemSchema.c, schema 12.11.

/// A class of stored items. The raw value is the four characters of Apple's `kSecClass…` constant.
package enum ItemClass: UInt32, CaseIterable, Hashable, Sendable {
    case genericPassword = 0x6765_6E70  // genp
    case internetPassword = 0x696E_6574  // inet

    package var name: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        }
    }

    package init?(name: String) {
        switch name {
        case "genp": self = .genericPassword
        case "inet": self = .internetPassword
        default: return nil
        }
    }

    /// Whether items of the class have the attribute. Anything else is `errSecNoSuchAttr`.
    package func has(_ attribute: Attribute) -> Bool {
        switch attribute {
        case .creationDate, .modificationDate, .label, .alias, .syncViewHint, .tokenID,
            .sharingGroup, .systemBound, .pcsService, .pcsPublicKey, .pcsPublicIdentity,
            .account, .description, .comment, .creator, .type, .isInvisible, .isNegative,
            .scriptCode, .customIcon, .legacyProtected:
            true
        case .service, .generic:
            self == .genericPassword
        case .securityDomain, .server, .protocolType, .authenticationType, .port, .path:
            self == .internetPassword
        }
    }

    /// The first key attribute: what an item belongs to.
    package var firstKey: Attribute {
        switch self {
        case .genericPassword: .service
        case .internetPassword: .server
        }
    }

    /// The second key attribute: whose it is.
    package var secondKey: Attribute { .account }

    /// The other attributes of the primary key, beside access group and synchronizable.
    package var otherKeys: [Attribute] {
        switch self {
        case .genericPassword: [.syncViewHint, .tokenID, .sharingGroup]
        case .internetPassword:
            [
                .securityDomain, .protocolType, .authenticationType, .port, .path,
                .syncViewHint, .tokenID, .sharingGroup,
            ]
        }
    }

    /// Attributes that have an index entry of their own where they are set, the most
    /// selective first.
    package var searchTerms: [Attribute] {
        switch self {
        case .genericPassword: [.generic, .label, .syncViewHint, .tokenID]
        case .internetPassword:
            [
                .label, .path, .securityDomain, .port, .protocolType, .authenticationType,
                .syncViewHint, .tokenID,
            ]
        }
    }
}
