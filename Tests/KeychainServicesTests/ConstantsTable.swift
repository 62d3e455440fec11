// ConstantsTable: the string of every constant, as defined in Apple's source and headers.

#if !canImport(Darwin)

import Testing

@testable import KeychainServices

/// A constant: its name, its value in this module and Apple's value.
struct ConstantRow: Sendable, CustomTestStringConvertible {
    let name: String
    let value: String
    let expected: String

    init(_ name: String, _ value: CFString, _ expected: String) {
        self.name = name
        self.value = value as String
        self.expected = expected
    }

    var testDescription: String { name }
}

extension ConstantRow {
    /// From the constant definitions in apple-oss-distributions/Security, Security-61901.0.87.0.1.
    static let data: [ConstantRow] = [
        .init("kSecClass", kSecClass, "class"),
        .init("kSecClassGenericPassword", kSecClassGenericPassword, "genp"),
        .init("kSecClassInternetPassword", kSecClassInternetPassword, "inet"),
        .init("kSecClassCertificate", kSecClassCertificate, "cert"),
        .init("kSecClassKey", kSecClassKey, "keys"),
        .init("kSecClassIdentity", kSecClassIdentity, "idnt"),
        .init("kSecAttrAccessible", kSecAttrAccessible, "pdmn"),
        .init("kSecAttrAccessControl", kSecAttrAccessControl, "accc"),
        .init("kSecAttrAccessGroup", kSecAttrAccessGroup, "agrp"),
        .init("kSecAttrCreationDate", kSecAttrCreationDate, "cdat"),
        .init("kSecAttrModificationDate", kSecAttrModificationDate, "mdat"),
        .init("kSecAttrDescription", kSecAttrDescription, "desc"),
        .init("kSecAttrComment", kSecAttrComment, "icmt"),
        .init("kSecAttrCreator", kSecAttrCreator, "crtr"),
        .init("kSecAttrType", kSecAttrType, "type"),
        .init("kSecAttrLabel", kSecAttrLabel, "labl"),
        .init("kSecAttrIsInvisible", kSecAttrIsInvisible, "invi"),
        .init("kSecAttrIsNegative", kSecAttrIsNegative, "nega"),
        .init("kSecAttrAccount", kSecAttrAccount, "acct"),
        .init("kSecAttrService", kSecAttrService, "svce"),
        .init("kSecAttrGeneric", kSecAttrGeneric, "gena"),
        .init("kSecAttrSecurityDomain", kSecAttrSecurityDomain, "sdmn"),
        .init("kSecAttrServer", kSecAttrServer, "srvr"),
        .init("kSecAttrProtocol", kSecAttrProtocol, "ptcl"),
        .init("kSecAttrAuthenticationType", kSecAttrAuthenticationType, "atyp"),
        .init("kSecAttrPort", kSecAttrPort, "port"),
        .init("kSecAttrPath", kSecAttrPath, "path"),
        .init("kSecAttrSubject", kSecAttrSubject, "subj"),
        .init("kSecAttrIssuer", kSecAttrIssuer, "issr"),
        .init("kSecAttrSerialNumber", kSecAttrSerialNumber, "slnr"),
        .init("kSecAttrSubjectKeyID", kSecAttrSubjectKeyID, "skid"),
        .init("kSecAttrPublicKeyHash", kSecAttrPublicKeyHash, "pkhh"),
        .init("kSecAttrCertificateType", kSecAttrCertificateType, "ctyp"),
        .init("kSecAttrCertificateEncoding", kSecAttrCertificateEncoding, "cenc"),
        .init("kSecAttrKeyClass", kSecAttrKeyClass, "kcls"),
        .init("kSecAttrApplicationLabel", kSecAttrApplicationLabel, "klbl"),
        .init("kSecAttrIsPermanent", kSecAttrIsPermanent, "perm"),
        .init("kSecAttrApplicationTag", kSecAttrApplicationTag, "atag"),
        .init("kSecAttrKeyType", kSecAttrKeyType, "type"),
        .init("kSecAttrKeySizeInBits", kSecAttrKeySizeInBits, "bsiz"),
        .init("kSecAttrEffectiveKeySize", kSecAttrEffectiveKeySize, "esiz"),
        .init("kSecAttrIsSensitive", kSecAttrIsSensitive, "sens"),
        .init("kSecAttrIsExtractable", kSecAttrIsExtractable, "extr"),
        .init("kSecAttrCanEncrypt", kSecAttrCanEncrypt, "encr"),
        .init("kSecAttrCanDecrypt", kSecAttrCanDecrypt, "decr"),
        .init("kSecAttrCanDerive", kSecAttrCanDerive, "drve"),
        .init("kSecAttrCanSign", kSecAttrCanSign, "sign"),
        .init("kSecAttrCanVerify", kSecAttrCanVerify, "vrfy"),
        .init("kSecAttrCanWrap", kSecAttrCanWrap, "wrap"),
        .init("kSecAttrCanUnwrap", kSecAttrCanUnwrap, "unwp"),
        .init("kSecAttrSyncViewHint", kSecAttrSyncViewHint, "vwht"),
        .init("kSecAttrTokenID", kSecAttrTokenID, "tkid"),
        .init("kSecAttrSynchronizable", kSecAttrSynchronizable, "sync"),
        .init("kSecAttrPersistantReference", kSecAttrPersistantReference, "persistref"),
        .init("kSecAttrPersistentReference", kSecAttrPersistentReference, "persistref"),
        .init("kSecAttrAccessGroupToken", kSecAttrAccessGroupToken, "com.apple.token"),
        .init("kSecMatchPolicy", kSecMatchPolicy, "m_Policy"),
        .init("kSecMatchItemList", kSecMatchItemList, "m_ItemList"),
        .init("kSecMatchSearchList", kSecMatchSearchList, "m_SearchList"),
        .init("kSecMatchIssuers", kSecMatchIssuers, "m_Issuers"),
        .init(
            "kSecMatchEmailAddressIfPresent", kSecMatchEmailAddressIfPresent,
            "m_EmailAddressIfPresent"),
        .init("kSecMatchSubjectContains", kSecMatchSubjectContains, "m_SubjectContains"),
        .init(
            "kSecMatchHostOrSubdomainOfHost", kSecMatchHostOrSubdomainOfHost,
            "m_HostOrSubdomainOfHost"),
        .init("kSecMatchCaseInsensitive", kSecMatchCaseInsensitive, "m_CaseInsensitive"),
        .init("kSecMatchTrustedOnly", kSecMatchTrustedOnly, "m_TrustedOnly"),
        .init("kSecMatchValidOnDate", kSecMatchValidOnDate, "m_ValidOnDate"),
        .init("kSecMatchLimit", kSecMatchLimit, "m_Limit"),
        .init("kSecMatchLimitOne", kSecMatchLimitOne, "m_LimitOne"),
        .init("kSecMatchLimitAll", kSecMatchLimitAll, "m_LimitAll"),
        .init("kSecReturnData", kSecReturnData, "r_Data"),
        .init("kSecReturnAttributes", kSecReturnAttributes, "r_Attributes"),
        .init("kSecReturnRef", kSecReturnRef, "r_Ref"),
        .init("kSecReturnPersistentRef", kSecReturnPersistentRef, "r_PersistentRef"),
        .init("kSecValueData", kSecValueData, "v_Data"),
        .init("kSecValueRef", kSecValueRef, "v_Ref"),
        .init("kSecValuePersistentRef", kSecValuePersistentRef, "v_PersistentRef"),
        .init("kSecUseItemList", kSecUseItemList, "u_ItemList"),
        .init("kSecUseOperationPrompt", kSecUseOperationPrompt, "u_OpPrompt"),
        .init("kSecUseNoAuthenticationUI", kSecUseNoAuthenticationUI, "u_NoAuthUI"),
        .init("kSecUseAuthenticationUI", kSecUseAuthenticationUI, "u_AuthUI"),
        .init("kSecUseDataProtectionKeychain", kSecUseDataProtectionKeychain, "nleg"),
        .init(
            "kSecUseUserIndependentKeychain", kSecUseUserIndependentKeychain,
            "u_UserIndependentKeychain"),
        .init("kSecAttrAccessibleWhenUnlocked", kSecAttrAccessibleWhenUnlocked, "ak"),
        .init("kSecAttrAccessibleAfterFirstUnlock", kSecAttrAccessibleAfterFirstUnlock, "ck"),
        .init(
            "kSecAttrAccessibleWhenUnlockedThisDeviceOnly",
            kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
            "aku"),
        .init(
            "kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly",
            kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            "cku"),
        .init(
            "kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly",
            kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
            "akpu"),
        .init("kSecAttrProtocolFTP", kSecAttrProtocolFTP, "ftp "),
        .init("kSecAttrProtocolFTPAccount", kSecAttrProtocolFTPAccount, "ftpa"),
        .init("kSecAttrProtocolHTTP", kSecAttrProtocolHTTP, "http"),
        .init("kSecAttrProtocolIRC", kSecAttrProtocolIRC, "irc "),
        .init("kSecAttrProtocolNNTP", kSecAttrProtocolNNTP, "nntp"),
        .init("kSecAttrProtocolPOP3", kSecAttrProtocolPOP3, "pop3"),
        .init("kSecAttrProtocolSMTP", kSecAttrProtocolSMTP, "smtp"),
        .init("kSecAttrProtocolSOCKS", kSecAttrProtocolSOCKS, "sox "),
        .init("kSecAttrProtocolIMAP", kSecAttrProtocolIMAP, "imap"),
        .init("kSecAttrProtocolLDAP", kSecAttrProtocolLDAP, "ldap"),
        .init("kSecAttrProtocolAppleTalk", kSecAttrProtocolAppleTalk, "atlk"),
        .init("kSecAttrProtocolAFP", kSecAttrProtocolAFP, "afp "),
        .init("kSecAttrProtocolTelnet", kSecAttrProtocolTelnet, "teln"),
        .init("kSecAttrProtocolSSH", kSecAttrProtocolSSH, "ssh "),
        .init("kSecAttrProtocolFTPS", kSecAttrProtocolFTPS, "ftps"),
        .init("kSecAttrProtocolHTTPS", kSecAttrProtocolHTTPS, "htps"),
        .init("kSecAttrProtocolHTTPProxy", kSecAttrProtocolHTTPProxy, "htpx"),
        .init("kSecAttrProtocolHTTPSProxy", kSecAttrProtocolHTTPSProxy, "htsx"),
        .init("kSecAttrProtocolFTPProxy", kSecAttrProtocolFTPProxy, "ftpx"),
        .init("kSecAttrProtocolSMB", kSecAttrProtocolSMB, "smb "),
        .init("kSecAttrProtocolRTSP", kSecAttrProtocolRTSP, "rtsp"),
        .init("kSecAttrProtocolRTSPProxy", kSecAttrProtocolRTSPProxy, "rtsx"),
        .init("kSecAttrProtocolDAAP", kSecAttrProtocolDAAP, "daap"),
        .init("kSecAttrProtocolEPPC", kSecAttrProtocolEPPC, "eppc"),
        .init("kSecAttrProtocolIPP", kSecAttrProtocolIPP, "ipp "),
        .init("kSecAttrProtocolNNTPS", kSecAttrProtocolNNTPS, "ntps"),
        .init("kSecAttrProtocolLDAPS", kSecAttrProtocolLDAPS, "ldps"),
        .init("kSecAttrProtocolTelnetS", kSecAttrProtocolTelnetS, "tels"),
        .init("kSecAttrProtocolIMAPS", kSecAttrProtocolIMAPS, "imps"),
        .init("kSecAttrProtocolIRCS", kSecAttrProtocolIRCS, "ircs"),
        .init("kSecAttrProtocolPOP3S", kSecAttrProtocolPOP3S, "pops"),
        .init("kSecAttrAuthenticationTypeNTLM", kSecAttrAuthenticationTypeNTLM, "ntlm"),
        .init("kSecAttrAuthenticationTypeMSN", kSecAttrAuthenticationTypeMSN, "msna"),
        .init("kSecAttrAuthenticationTypeDPA", kSecAttrAuthenticationTypeDPA, "dpaa"),
        .init("kSecAttrAuthenticationTypeRPA", kSecAttrAuthenticationTypeRPA, "rpaa"),
        .init("kSecAttrAuthenticationTypeHTTPBasic", kSecAttrAuthenticationTypeHTTPBasic, "http"),
        .init("kSecAttrAuthenticationTypeHTTPDigest", kSecAttrAuthenticationTypeHTTPDigest, "httd"),
        .init("kSecAttrAuthenticationTypeHTMLForm", kSecAttrAuthenticationTypeHTMLForm, "form"),
        .init("kSecAttrAuthenticationTypeDefault", kSecAttrAuthenticationTypeDefault, "dflt"),
        .init("kSecAttrKeyClassPublic", kSecAttrKeyClassPublic, "0"),
        .init("kSecAttrKeyClassPrivate", kSecAttrKeyClassPrivate, "1"),
        .init("kSecAttrKeyClassSymmetric", kSecAttrKeyClassSymmetric, "2"),
        .init("kSecAttrKeyTypeRSA", kSecAttrKeyTypeRSA, "42"),
        .init("kSecAttrKeyTypeEC", kSecAttrKeyTypeEC, "73"),
        .init("kSecAttrKeyTypeECSECPrimeRandom", kSecAttrKeyTypeECSECPrimeRandom, "73"),
        .init("kSecAttrSynchronizableAny", kSecAttrSynchronizableAny, "syna"),
        .init("kSecPrivateKeyAttrs", kSecPrivateKeyAttrs, "private"),
        .init("kSecPublicKeyAttrs", kSecPublicKeyAttrs, "public"),
        .init("kSecUseAuthenticationUIAllow", kSecUseAuthenticationUIAllow, "u_AuthUIA"),
        .init("kSecUseAuthenticationUIFail", kSecUseAuthenticationUIFail, "u_AuthUIF"),
        .init("kSecUseAuthenticationUISkip", kSecUseAuthenticationUISkip, "u_AuthUIS"),
        .init("kSecUseAuthenticationContext", kSecUseAuthenticationContext, "u_AuthCtx"),
        .init("kSecAttrTokenIDSecureEnclave", kSecAttrTokenIDSecureEnclave, "com.apple.setoken"),
    ]

    /// Further constants from the public headers of macOS, with the definitions of its file-based
    /// keychain.
    static let macOS: [ConstantRow] = [
        .init("kSecAttrKeyTypeECDSA", kSecAttrKeyTypeECDSA, "73"),
        .init("kSecAttrKeyTypeDSA", kSecAttrKeyTypeDSA, "43"),
        .init("kSecAttrKeyTypeAES", kSecAttrKeyTypeAES, "2147483649"),
        .init("kSecAttrKeyTypeDES", kSecAttrKeyTypeDES, "14"),
        .init("kSecAttrKeyType3DES", kSecAttrKeyType3DES, "17"),
        .init("kSecAttrKeyTypeRC2", kSecAttrKeyTypeRC2, "23"),
        .init("kSecAttrKeyTypeRC4", kSecAttrKeyTypeRC4, "25"),
        .init("kSecAttrKeyTypeCAST", kSecAttrKeyTypeCAST, "56"),
        .init("kSecAttrPRF", kSecAttrPRF, "prf"),
        .init("kSecAttrSalt", kSecAttrSalt, "salt"),
        .init("kSecAttrRounds", kSecAttrRounds, "rounds"),
        .init("kSecAttrPRFHmacAlgSHA1", kSecAttrPRFHmacAlgSHA1, "hsha1"),
        .init("kSecAttrPRFHmacAlgSHA224", kSecAttrPRFHmacAlgSHA224, "hsha224"),
        .init("kSecAttrPRFHmacAlgSHA256", kSecAttrPRFHmacAlgSHA256, "hsha256"),
        .init("kSecAttrPRFHmacAlgSHA384", kSecAttrPRFHmacAlgSHA384, "hsha384"),
        .init("kSecAttrPRFHmacAlgSHA512", kSecAttrPRFHmacAlgSHA512, "hsha512"),
        .init("kSecMatchSubjectStartsWith", kSecMatchSubjectStartsWith, "m_SubjectStartsWith"),
        .init("kSecMatchSubjectEndsWith", kSecMatchSubjectEndsWith, "m_SubjectEndsWith"),
        .init("kSecMatchSubjectWholeString", kSecMatchSubjectWholeString, "m_SubjectWholeString"),
        .init(
            "kSecMatchDiacriticInsensitive", kSecMatchDiacriticInsensitive,
            "m_DiacriticInsensitive"),
        .init("kSecMatchWidthInsensitive", kSecMatchWidthInsensitive, "m_WidthInsensitive"),
        .init("kSecImportExportPassphrase", kSecImportExportPassphrase, "passphrase"),
        .init("kSecImportExportKeychain", kSecImportExportKeychain, "keychain"),
        .init("kSecImportExportAccess", kSecImportExportAccess, "access"),
        .init("kSecImportToMemoryOnly", kSecImportToMemoryOnly, "memory"),
        .init("kSecImportItemLabel", kSecImportItemLabel, "label"),
        .init("kSecImportItemKeyID", kSecImportItemKeyID, "keyid"),
        .init("kSecImportItemTrust", kSecImportItemTrust, "trust"),
        .init("kSecImportItemCertChain", kSecImportItemCertChain, "chain"),
        .init("kSecImportItemIdentity", kSecImportItemIdentity, "identity"),
        .init("kSecAttrAccess", kSecAttrAccess, "acls"),
        .init("kSecUseKeychain", kSecUseKeychain, "u_Keychain"),
        .init("kSecSharedPassword", kSecSharedPassword, "spwd"),
    ]

    /// From the private definitions in the same source as `data`.
    static let privateNames: [ConstantRow] = [
        .init("kSecAttrTombstone", kSecAttrTombstone, "tomb"),
        .init("kSecAttrMultiUser", kSecAttrMultiUser, "musr"),
        .init("kSecAttrSharingGroup", kSecAttrSharingGroup, "ggrp"),
        .init("kSecAttrAppClipItem", kSecAttrAppClipItem, "clip"),
        .init("kSecAttrSHA1", kSecAttrSHA1, "sha1"),
        .init("kSecAttrUUID", kSecAttrUUID, "UUID"),
        .init("kSecAttrAlias", kSecAttrAlias, "alis"),
        .init("kSecAttrSysBound", kSecAttrSysBound, "sysb"),
        .init("kSecAttrScriptCode", kSecAttrScriptCode, "scrp"),
        .init("kSecAttrHasCustomIcon", kSecAttrHasCustomIcon, "cusi"),
        .init("kSecAttrStartDate", kSecAttrStartDate, "sdat"),
        .init("kSecAttrEndDate", kSecAttrEndDate, "edat"),
        .init("kSecAttrIsPrivate", kSecAttrIsPrivate, "priv"),
        .init("kSecAttrIsModifiable", kSecAttrIsModifiable, "modi"),
        .init("kSecAttrWasAlwaysSensitive", kSecAttrWasAlwaysSensitive, "asen"),
        .init("kSecAttrWasNeverExtractable", kSecAttrWasNeverExtractable, "next"),
        .init("kSecAttrCanSignRecover", kSecAttrCanSignRecover, "snrc"),
        .init("kSecAttrCanVerifyRecover", kSecAttrCanVerifyRecover, "vyrc"),
        .init(
            "kSecAttrTokenIDAppleKeyStore", kSecAttrTokenIDAppleKeyStore,
            "com.apple.setoken:aks"),
        .init("kSecUseTombstones", kSecUseTombstones, "u_Tomb"),
        .init("kSecUseCredentialReference", kSecUseCredentialReference, "u_CredRef"),
    ]

    /// The deprecated constants, from the same source as `data`.
    static let deprecated = (AlwaysConstants.self as any DeprecatedConstants.Type).rows
}

/// Gives access to deprecated constants without a warning. Code that names such a constant must be
/// deprecated itself, or it causes a warning. This protocol isn't deprecated, so using it causes no
/// warning.
private protocol DeprecatedConstants {
    static var rows: [ConstantRow] { get }
}

private enum AlwaysConstants: DeprecatedConstants {
    @available(*, deprecated)
    static var rows: [ConstantRow] {
        [
            .init("kSecAttrAccessibleAlways", kSecAttrAccessibleAlways, "dk"),
            .init(
                "kSecAttrAccessibleAlwaysThisDeviceOnly", kSecAttrAccessibleAlwaysThisDeviceOnly,
                "dku"),
        ]
    }
}

#endif
