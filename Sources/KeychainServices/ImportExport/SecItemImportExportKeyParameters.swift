// SecItemImportExportKeyParameters: the caller's parameters for the keys of an import or export.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore

/// The version of ``SecItemImportExportKeyParameters``.
public let SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION: Int32 = 0

/// Parameters for the keys of ``SecItemImport(_:_:_:_:_:_:_:_:)`` and
/// ``SecItemExport(_:_:_:_:_:)``.
///
/// The caller owns the objects: it must keep them alive until the call returns, and the call
/// doesn't release them. The initializer without arguments sets all fields to zero, as for Apple's
/// structure.
@safe
public struct SecItemImportExportKeyParameters {
    /// ``SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION``. It is not checked.
    public var version: UInt32
    /// Only ``SecKeyImportExportFlags/importOnlyOne`` has an effect. Whatever the other flags are,
    /// the user is not prompted for a passphrase, and keys outside a keychain have no access
    /// control.
    public var flags: SecKeyImportExportFlags
    /// The passphrase as a string, or as data with its bytes. `nil` if there is none.
    public var passphrase: Unmanaged<CFTypeRef>!
    /// Ignored, because the user is not prompted.
    public var alertTitle: Unmanaged<CFString>!
    /// Ignored, because the user is not prompted.
    public var alertPrompt: Unmanaged<CFString>!
    /// Ignored, because there are no file-based keychains.
    public var accessRef: Unmanaged<SecAccess>?
    /// Ignored. The caller can specify a key's permitted uses when it adds the key to the keychain.
    public var keyUsage: Unmanaged<CFArray>?
    /// Ignored. The caller can specify a key's attributes when it adds the key to the keychain.
    public var keyAttributes: Unmanaged<CFArray>?

    /// Creates parameters with all fields zero.
    public init() {
        version = 0
        flags = []
        // SAFETY: the references are `nil`.
        unsafe passphrase = nil
        unsafe alertTitle = nil
        unsafe alertPrompt = nil
        unsafe accessRef = nil
        unsafe keyUsage = nil
        unsafe keyAttributes = nil
    }

    /// Creates parameters with values for all fields.
    public init(
        version: UInt32, flags: SecKeyImportExportFlags, passphrase: Unmanaged<CFTypeRef>!,
        alertTitle: Unmanaged<CFString>!, alertPrompt: Unmanaged<CFString>!,
        accessRef: Unmanaged<SecAccess>?, keyUsage: Unmanaged<CFArray>?,
        keyAttributes: Unmanaged<CFArray>?
    ) {
        self.version = version
        self.flags = flags
        // SAFETY: the caller owns the objects, as with Apple's structure; nothing is retained.
        unsafe self.passphrase = passphrase
        unsafe self.alertTitle = alertTitle
        unsafe self.alertPrompt = alertPrompt
        unsafe self.accessRef = accessRef
        unsafe self.keyUsage = keyUsage
        unsafe self.keyAttributes = keyAttributes
    }
}

/// The passphrase of an import or export.
struct Passphrase {
    /// The UTF-8 encoding of a string, or the bytes of the data that was passed.
    let bytes: [UInt8]

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Reads the passphrase from the parameters.
    ///
    /// - Returns: `nil` if there is none.
    /// - Throws: `param` if it is neither a string nor data.
    init?(_ parameters: SecItemImportExportKeyParameters?) throws(KeychainFailure) {
        // SAFETY: the caller keeps the object alive during the call, as the contract of the type
        // requires.
        guard let object = unsafe parameters?.passphrase?.takeUnretainedValue() else { return nil }
        switch DictionaryValue(object) {
        case .string(let text): self.init(text: text)
        case .data(let data): self.init(bytes: Array(data))
        default: throw .param("The passphrase is neither text nor data.")
        }
    }

    /// The passphrase as text, which PKCS #12 and the legacy ciphers require.
    func text() throws(KeychainFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .param(
                "The passphrase is not UTF-8 text, which PKCS #12 and the legacy ciphers require.")
        }
        return text
    }

    static let required = KeychainFailure(
        .passphraseRequired, "A passphrase is required. Pass it in the key parameters.")
}

#endif
