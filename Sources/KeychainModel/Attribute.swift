// Attribute: the names of item attributes and the kind of value each takes.

/// An attribute. The raw value is the four characters of Apple's constant, first one highest.
package enum Attribute: UInt32, CaseIterable, Hashable, Sendable {
    // Every class.
    case creationDate = 0x6364_6174  // cdat
    case modificationDate = 0x6D64_6174  // mdat
    case label = 0x6C61_626C  // labl
    case alias = 0x616C_6973  // alis
    case syncViewHint = 0x7677_6874  // vwht
    case tokenID = 0x746B_6964  // tkid
    case sharingGroup = 0x6767_7270  // ggrp
    case systemBound = 0x7379_7362  // sysb
    case pcsService = 0x7063_7373  // pcss
    case pcsPublicKey = 0x7063_736B  // pcsk
    case pcsPublicIdentity = 0x7063_7369  // pcsi
    // Passwords.
    case account = 0x6163_6374  // acct
    case description = 0x6465_7363  // desc
    case comment = 0x6963_6D74  // icmt
    case creator = 0x6372_7472  // crtr
    case type = 0x7479_7065  // type
    case isInvisible = 0x696E_7669  // invi
    case isNegative = 0x6E65_6761  // nega
    case scriptCode = 0x7363_7270  // scrp
    case customIcon = 0x6375_7369  // cusi
    case legacyProtected = 0x7072_6F74  // prot
    // Generic passwords.
    case service = 0x7376_6365  // svce
    case generic = 0x6765_6E61  // gena
    // Internet passwords.
    case securityDomain = 0x7364_6D6E  // sdmn
    case server = 0x7372_7672  // srvr
    case protocolType = 0x7074_636C  // ptcl
    case authenticationType = 0x6174_7970  // atyp
    case port = 0x706F_7274  // port
    case path = 0x7061_7468  // path

    /// What values an attribute takes and how they compare.
    package enum Kind: Hashable, Sendable {
        /// Text. Data is taken as UTF-8 and becomes text.
        case string
        /// Text, data or a number; comes back as it was given. Text equals data of its UTF-8 bytes.
        case blob
        /// Data. Text is taken as UTF-8, a number as 4 little-endian bytes.
        case data
        /// A 64-bit integer. Text of a decimal integer becomes a number; other text stays text.
        case number
        /// A moment.
        case date
    }

    package var kind: Kind {
        switch self {
        case .creationDate, .modificationDate: .date
        case .syncViewHint, .tokenID, .sharingGroup: .string
        case .label, .alias, .account, .description, .comment, .service, .generic,
            .securityDomain, .server, .authenticationType, .path, .legacyProtected:
            .blob
        case .pcsPublicKey, .pcsPublicIdentity: .data
        case .creator, .type, .isInvisible, .isNegative, .scriptCode, .customIcon,
            .protocolType, .port, .systemBound, .pcsService:
            .number
        }
    }

    /// The four characters of Apple's constant.
    package var name: String {
        let code = rawValue
        let characters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> UInt32($0)) }
        return String(decoding: characters, as: UTF8.self)
    }

    /// - Returns: nil unless the name is four characters that name an attribute.
    package init?(name: String) {
        let characters = name.utf8
        guard characters.count == 4 else { return nil }
        self.init(rawValue: characters.reduce(0) { $0 << 8 | UInt32($1) })
    }
}
