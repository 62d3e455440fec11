// SecItemImportExportKeyParameters: what the caller of an import or export says of its keys.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore

/// The version of ``SecItemImportExportKeyParameters``.
public let SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION: Int32 = 0

/// What the caller of ``SecItemImport(_:_:_:_:_:_:_:_:)`` or ``SecItemExport(_:_:_:_:_:)`` says of the keys.
///
/// The objects are the caller's: they have to live until the call returns, and are not released by
/// it. A fresh value is zero throughout, as from the C header.
@safe
public struct SecItemImportExportKeyParameters {
    /// ``SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION``.
    public var version: UInt32
    /// ``SecKeyImportExportFlags/importOnlyOne`` counts. No person is asked for a passphrase, and
    /// keys outside of a keychain have no access control, whatever the other flags say.
    public var flags: SecKeyImportExportFlags
    /// The passphrase, a string, or data with its bytes. Nil if there is none.
    public var passphrase: Unmanaged<CFTypeRef>!
    /// Ignored: no question is asked.
    public var alertTitle: Unmanaged<CFString>!
    /// Ignored: no question is asked.
    public var alertPrompt: Unmanaged<CFString>!
    /// Ignored: there are no file-based keychains.
    public var accessRef: Unmanaged<SecAccess>?
    /// Ignored: what a key may be used for is said when it is added to the keychain.
    public var keyUsage: Unmanaged<CFArray>?
    /// Ignored: attributes are given when the key is added to the keychain.
    public var keyAttributes: Unmanaged<CFArray>?

    /// Parameters that say nothing.
    public init() {
        version = 0
        flags = []
        // SAFETY: nothing is referred to.
        unsafe passphrase = nil
        unsafe alertTitle = nil
        unsafe alertPrompt = nil
        unsafe accessRef = nil
        unsafe keyUsage = nil
        unsafe keyAttributes = nil
    }

    /// Parameters with all that can be said.
    public init(
        version: UInt32, flags: SecKeyImportExportFlags, passphrase: Unmanaged<CFTypeRef>!,
        alertTitle: Unmanaged<CFString>!, alertPrompt: Unmanaged<CFString>!,
        accessRef: Unmanaged<SecAccess>?, keyUsage: Unmanaged<CFArray>?,
        keyAttributes: Unmanaged<CFArray>?
    ) {
        self.version = version
        self.flags = flags
        // SAFETY: the references are the caller's, as in Apple's structure; nothing is retained.
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
    /// UTF-8 of a text, or bytes as they were given.
    let bytes: [UInt8]

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// The passphrase among the parameters.
    ///
    /// - Returns: Nil if there is none.
    /// - Throws: `param` if it is neither text nor data.
    init?(_ parameters: SecItemImportExportKeyParameters?) throws(KeychainFailure) {
        // SAFETY: the caller keeps the object alive for the call, as the type's contract says.
        guard let object = unsafe parameters?.passphrase?.takeUnretainedValue() else { return nil }
        switch DictionaryValue(object) {
        case .string(let text): self.init(text: text)
        case .data(let data): self.init(bytes: Array(data))
        default: throw .param("The passphrase is neither text nor data.")
        }
    }

    /// The passphrase as text, which PKCS #12 needs.
    func text() throws(KeychainFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .param("The passphrase is no text in UTF-8, which PKCS #12 asks for.")
        }
        return text
    }

    static let required = KeychainFailure(
        .passphraseRequired, "A passphrase is needed, in the key parameters.")
}

#endif
