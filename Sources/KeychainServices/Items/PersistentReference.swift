// PersistentReference: the bytes of `kSecValuePersistentRef`.
//
//   OFFSET  SIZE  FIELD
//   0       4     class, the characters of its kSecClass… constant
//   4       16    the item's reference
//
// Apple has two more forms, which name no item here: 12 bytes, a class and a row number, and
// `tkpr` with the DER of an object on a token.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainModel

/// A persistent reference that was read.
enum PersistentReference: Equatable {
    case item(ItemClass, ItemReference)
    /// Well-formed, and no item of ours can have it.
    case rowNumber(ItemClass)
    case classToCome(ClassToCome)
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
        guard rest.count == ItemReference.byteCount || rest.count == Self.rowNumberByteCount
        else { return nil }
        if let toCome = ClassToCome(rawValue: code) {
            self = .classToCome(toCome)
        } else if let itemClass = ItemClass(name: code) {
            self =
                ItemReference(bytes: Array(rest)).map { .item(itemClass, $0) }
                ?? .rowNumber(itemClass)
        } else {
            return nil
        }
    }

    /// The bytes of an item's reference.
    static func encoded(_ itemClass: ItemClass, _ reference: ItemReference) -> Data {
        Data(itemClass.name.utf8) + reference.bytes
    }

    /// The class of the item, where the reference says it.
    var itemClass: RequestDictionary.Class? {
        switch self {
        case .item(let itemClass, _), .rowNumber(let itemClass): .known(itemClass)
        case .classToCome(let itemClass): .toCome(itemClass)
        case .token: nil
        }
    }
}

#endif
