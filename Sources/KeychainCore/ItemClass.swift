// ItemClass: the classes of items, the attributes of each, and the attributes that make an item
// unique. All of them come from Apple's SecItemSchema.c, schema 12.11.
//   (1) Identity is not a class of stored items: an identity is a private key and a certificate
//       with the same public key (IdentityRequests.swift).

/// A class of stored items. The raw value is the four-character code of Apple's `kSecClass…`
/// constant.
package enum ItemClass: UInt32, CaseIterable, Hashable, Sendable {
    case genericPassword = 0x6765_6E70  // genp
    case internetPassword = 0x696E_6574  // inet
    case certificate = 0x6365_7274  // cert
    case key = 0x6B65_7973  // keys

    package var name: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        case .certificate: "cert"
        case .key: "keys"
        }
    }

    package init?(name: String) {
        switch name {
        case "genp": self = .genericPassword
        case "inet": self = .internetPassword
        case "cert": self = .certificate
        case "keys": self = .key
        default: return nil
        }
    }

    /// Whether items of the class have the attribute. The error for other attributes is
    /// `errSecNoSuchAttr`.
    package func has(_ attribute: Attribute) -> Bool {
        switch attribute {
        case .creationDate, .modificationDate, .label, .alias, .syncViewHint, .tokenID,
            .sharingGroup, .systemBound, .pcsService, .pcsPublicKey, .pcsPublicIdentity:
            true
        case .account, .description, .comment, .isInvisible, .isNegative, .scriptCode,
            .customIcon, .legacyProtected:
            self == .genericPassword || self == .internetPassword
        case .creator, .type:
            self != .certificate
        case .service, .generic:
            self == .genericPassword
        case .securityDomain, .server, .protocolType, .authenticationType, .port, .path:
            self == .internetPassword
        case .certificateType, .certificateEncoding, .subject, .issuer, .serialNumber,
            .subjectKeyID, .publicKeyHash:
            self == .certificate
        case .keyClass, .applicationLabel, .applicationTag, .keySizeInBits, .effectiveKeySize,
            .startDate, .endDate, .isPermanent, .isPrivate, .isModifiable, .isSensitive,
            .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable, .canEncrypt, .canDecrypt,
            .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap,
            .canUnwrap:
            self == .key
        }
    }

    /// The first attribute of the primary key, such as the service or the server of a password.
    package var firstKey: Attribute {
        switch self {
        case .genericPassword: .service
        case .internetPassword: .server
        case .certificate: .issuer
        case .key: .applicationLabel
        }
    }

    /// The second attribute of the primary key, such as the account of a password.
    package var secondKey: Attribute {
        switch self {
        case .genericPassword, .internetPassword: .account
        case .certificate: .serialNumber
        case .key: .applicationTag
        }
    }

    /// The attributes of the primary key, except access group and synchronizable.
    package var primaryKey: [Attribute] { [firstKey, secondKey] + otherKeys }

    /// The class-specific attributes of the primary key. If an item lacks one of them, the SecItem
    /// functions return an empty value for it, as on Apple's platforms, where the empty value is
    /// stored.
    package var ownKeys: [Attribute] { [firstKey, secondKey] + otherOwnKeys }

    /// The attributes in ``primaryKey`` other than the first and the second.
    package var otherKeys: [Attribute] {
        otherOwnKeys + [.syncViewHint, .tokenID, .sharingGroup]
    }

    private var otherOwnKeys: [Attribute] {
        switch self {
        case .genericPassword: []
        case .internetPassword: Self.serverParts
        case .certificate: [.certificateType]
        case .key:
            [
                .keyClass, .type, .creator, .keySizeInBits, .effectiveKeySize, .startDate,
                .endDate,
            ]
        }
    }

    /// The attributes that distinguish the servers on one host. They share one index entry, which
    /// shows whether an item matches a query that specifies all of them. This also works for a
    /// locked item, whose attributes can't be read.
    package static let serverParts: [Attribute] = [
        .securityDomain, .protocolType, .authenticationType, .port, .path,
    ]

    /// The attributes that have their own index entry if they are set, the most selective first.
    package var searchTerms: [Attribute] {
        switch self {
        case .genericPassword: [.generic, .label, .syncViewHint, .tokenID]
        case .internetPassword:
            [
                .label, .path, .securityDomain, .port, .protocolType, .authenticationType,
                .syncViewHint, .tokenID,
            ]
        case .certificate:
            [.publicKeyHash, .subjectKeyID, .subject, .label, .syncViewHint, .tokenID]
        case .key: [.label, .syncViewHint, .tokenID]
        }
    }
}
