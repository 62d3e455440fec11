// ImportExportConstants: the keys of import and export options and results, and the types for
// formats, kinds of items and flags.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

#if !canImport(Darwin)

public import Foundation

/// The passphrase of the container to import. String.
@safe public nonisolated(unsafe) let kSecImportExportPassphrase: CFString = "passphrase"

/// The keychain to import into. Ignored: it applies only to file-based keychains.
@safe public nonisolated(unsafe) let kSecImportExportKeychain: CFString = "keychain"

/// The access object for imported items. Ignored: it applies only to file-based keychains.
@safe public nonisolated(unsafe) let kSecImportExportAccess: CFString = "access"

/// Whether imported items are only returned and not stored in the keychain. Boolean. Items are
/// stored only if this is not true and ``kSecUseDataProtectionKeychain`` is true.
@safe public nonisolated(unsafe) let kSecImportToMemoryOnly: CFString = "memory"

/// In an import result: the label of the item. String.
@safe public nonisolated(unsafe) let kSecImportItemLabel: CFString = "label"

/// In an import result: the identifier of the key. Data.
@safe public nonisolated(unsafe) let kSecImportItemKeyID: CFString = "keyid"

/// In an import result: the trust object of the identity's certificate. `SecTrust`.
@safe public nonisolated(unsafe) let kSecImportItemTrust: CFString = "trust"

/// In an import result with an identity: the identity's certificate, followed by its issuers. In
/// the result without an identity: the certificates that are in no such chain. Array of
/// `SecCertificate`.
@safe public nonisolated(unsafe) let kSecImportItemCertChain: CFString = "chain"

/// In an import result: the identity. `SecIdentity`.
@safe public nonisolated(unsafe) let kSecImportItemIdentity: CFString = "identity"

/// The format of data to import or export.
public enum SecExternalFormat: UInt32, Sendable {
    /// Unknown: import detects the format, export uses the default for the items.
    case formatUnknown = 0
    /// An unencrypted key in a format of OpenSSL: PKCS #8 or the traditional format for a private
    /// key, SubjectPublicKeyInfo or PKCS #1 for a public key.
    case formatOpenSSL = 1
    /// OpenSSH, version 1.
    case formatSSH = 2
    /// BSAFE.
    case formatBSAFE = 3
    /// The raw bytes of a key.
    case formatRawKey = 4
    /// A PKCS #8 key encrypted with a passphrase.
    case formatWrappedPKCS8 = 5
    /// A private key in OpenSSL's traditional format, encrypted with a passphrase.
    case formatWrappedOpenSSL = 6
    /// OpenSSH version 1, encrypted with a passphrase.
    case formatWrappedSSH = 7
    /// LSH. No function supports it.
    case formatWrappedLSH = 8
    /// An X.509 certificate.
    case formatX509Cert = 9
    /// A sequence of PEM blocks.
    case formatPEMSequence = 10
    /// PKCS #7.
    case formatPKCS7 = 11
    /// PKCS #12.
    case formatPKCS12 = 12
    /// A Netscape certificate sequence.
    case formatNetscapeCertSequence = 13
    /// OpenSSH, version 2.
    case formatSSHv2 = 14
}

/// The kind of item in data to import.
public enum SecExternalItemType: UInt32, Sendable {
    /// Unknown: import detects it.
    case itemTypeUnknown = 0
    /// A private key.
    case itemTypePrivateKey = 1
    /// A public key.
    case itemTypePublicKey = 2
    /// A symmetric key.
    case itemTypeSessionKey = 3
    /// A certificate.
    case itemTypeCertificate = 4
    /// The items of a container or of several PEM blocks.
    case itemTypeAggregate = 5
}

/// Options of `SecItemImport` and `SecItemExport`.
public struct SecItemImportExportFlags: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt32

    /// Creates options from their bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Export as PEM.
    public static let pemArmour = SecItemImportExportFlags(rawValue: 1 << 0)
}

/// Options for keys that are imported or exported.
public struct SecKeyImportExportFlags: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt32

    /// Creates options from their bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reject data with more than one private key.
    public static let importOnlyOne = SecKeyImportExportFlags(rawValue: 1 << 0)
    /// Prompt the user for the passphrase. Ignored: the user is not prompted.
    public static let securePassphrase = SecKeyImportExportFlags(rawValue: 1 << 1)
    /// Give imported private keys no access control. Ignored: an imported key has no access control
    /// until it is added to a keychain.
    public static let noAccessControl = SecKeyImportExportFlags(rawValue: 1 << 2)
}

#endif
