// PersistentReference: the bytes of `kSecValuePersistentRef`.
//
//   OFFSET  SIZE  FIELD
//   0       4     class, the characters of its kSecClass… constant
//   4       16    the item's reference; of an identity, that of its certificate
//
// Apple has two more forms, which name no item here: 12 bytes, a class and a row number, and
// `tkpr` with the DER of an object on a token.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore

/// A persistent reference that was read.
enum PersistentReference: Equatable {
    case item(ItemClass, ItemReference)
    case identity(ItemReference)
    /// Well-formed, and no item of ours can have it.
    case rowNumber(ItemKind)
    case token

    private static let codeByteCount = 4
    private static let rowNumberByteCount = 8

    /// - Returns: nil when the bytes are no persistent reference.
    init?(encoded bytes: Data) {
        guard bytes.count > Self.codeByteCount,
            let code = String(validating: bytes.prefix(Self.codeByteCount), as: UTF8.self)
        else { return nil }
        let rest = bytes.dropFirst(Self.codeByteCount)
        if code == "tkpr" {
            self = .token
            return
        }
        guard rest.count == ItemReference.byteCount || rest.count == Self.rowNumberByteCount,
            let kind = ItemKind(name: code)
        else { return nil }
        switch (kind, ItemReference(bytes: Array(rest))) {
        case (_, nil): self = .rowNumber(kind)
        case (.stored(let itemClass), let reference?): self = .item(itemClass, reference)
        case (.identity, let reference?): self = .identity(reference)
        }
    }

    /// The bytes of an item's reference.
    static func encoded(_ kind: ItemKind, _ reference: ItemReference) -> Data {
        Data(kind.name.utf8) + reference.bytes
    }

    /// What is referred to, where the reference says it.
    var kind: ItemKind? {
        switch self {
        case .item(let itemClass, _): .stored(itemClass)
        case .identity: .identity
        case .rowNumber(let kind): kind
        case .token: nil
        }
    }

    /// The reference of the item, or of the certificate of the identity.
    var itemReference: ItemReference? {
        switch self {
        case .item(_, let reference), .identity(let reference): reference
        case .rowNumber, .token: nil
        }
    }
}

#endif
