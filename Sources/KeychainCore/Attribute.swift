// Attribute: the names of item attributes and the kind of value that each takes.

/// An attribute. The raw value is Apple's four-character code; the first character is the most
/// significant byte.
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
    // Passwords. Keys also have `creator` and `type`.
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
    // Certificates.
    case certificateType = 0x6374_7970  // ctyp
    case certificateEncoding = 0x6365_6E63  // cenc
    case subject = 0x7375_626A  // subj
    case issuer = 0x6973_7372  // issr
    case serialNumber = 0x736C_6E72  // slnr
    case subjectKeyID = 0x736B_6964  // skid
    case publicKeyHash = 0x706B_6868  // pkhh
    // Keys.
    case keyClass = 0x6B63_6C73  // kcls
    case applicationLabel = 0x6B6C_626C  // klbl
    case applicationTag = 0x6174_6167  // atag
    case keySizeInBits = 0x6273_697A  // bsiz
    case effectiveKeySize = 0x6573_697A  // esiz
    case startDate = 0x7364_6174  // sdat
    case endDate = 0x6564_6174  // edat
    case isPermanent = 0x7065_726D  // perm
    case isPrivate = 0x7072_6976  // priv
    case isModifiable = 0x6D6F_6469  // modi
    case isSensitive = 0x7365_6E73  // sens
    case wasAlwaysSensitive = 0x6173_656E  // asen
    case isExtractable = 0x6578_7472  // extr
    case wasNeverExtractable = 0x6E65_7874  // next
    case canEncrypt = 0x656E_6372  // encr
    case canDecrypt = 0x6465_6372  // decr
    case canDerive = 0x6472_7665  // drve
    case canSign = 0x7369_676E  // sign
    case canVerify = 0x7672_6679  // vrfy
    case canSignRecover = 0x736E_7263  // snrc
    case canVerifyRecover = 0x7679_7263  // vyrc
    case canWrap = 0x7772_6170  // wrap
    case canUnwrap = 0x756E_7770  // unwp

    /// The kinds of attribute values, with their conversions and comparisons.
    package enum Kind: Hashable, Sendable {
        /// Text. Data is converted to text as UTF-8.
        case string
        /// Text, data or a number, returned as it was given. Text and data are equal if the data is
        /// the text's UTF-8 bytes.
        case blob
        /// Data. Text is converted to its UTF-8 bytes, a 32-bit number to 4 little-endian bytes.
        case data
        /// A 64-bit integer. Text that is the shortest form of a 32-bit decimal integer is
        /// converted to a number. Other text, such as "+5" or "05", stays text.
        case number
        /// A point in time.
        case date
    }

    package var kind: Kind {
        switch self {
        case .creationDate, .modificationDate, .startDate, .endDate: .date
        case .syncViewHint, .tokenID, .sharingGroup: .string
        case .label, .alias, .account, .description, .comment, .service, .generic,
            .securityDomain, .server, .authenticationType, .path, .legacyProtected,
            .applicationTag:
            .blob
        case .pcsPublicKey, .pcsPublicIdentity, .subject, .issuer, .serialNumber, .subjectKeyID,
            .publicKeyHash, .applicationLabel:
            .data
        case .creator, .type, .isInvisible, .isNegative, .scriptCode, .customIcon,
            .protocolType, .port, .systemBound, .pcsService, .certificateType,
            .certificateEncoding, .keyClass, .keySizeInBits, .effectiveKeySize, .isPermanent,
            .isPrivate, .isModifiable, .isSensitive, .wasAlwaysSensitive, .isExtractable,
            .wasNeverExtractable, .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify,
            .canSignRecover, .canVerifyRecover, .canWrap, .canUnwrap:
            .number
        }
    }

    /// The four characters of Apple's code.
    package var name: String {
        let code = rawValue
        let characters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> UInt32($0)) }
        return String(decoding: characters, as: UTF8.self)
    }

    /// - Returns: `nil` unless `name` has four characters and is the code of an attribute.
    package init?(name: String) {
        let characters = name.utf8
        guard characters.count == 4 else { return nil }
        self.init(rawValue: characters.reduce(0) { $0 << 8 | UInt32($1) })
    }
}
