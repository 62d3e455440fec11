// ChipObjects: objects that a chip creates, in the big-endian encoding of the TPM 2.0 Library, part
// 2.
//   (1) TPM2B_PUBLIC is the public part of the three kinds of objects. Input is rejected unless it
//       is exactly what a chip creates from the templates in this file.
//   (2) An object that is stored outside the chip is TPM2B_PUBLIC ‖ TPM2B_PRIVATE. The chip
//       encrypts and authenticates the private part together with the name of the public part.
//   (3) A decoded object encodes to the same bytes.

#if TPM

import CKeychainTSS2
import FoundationEssentials
import KeychainCore
import KeychainCrypto

// MARK: - The public part

/// The kind of an object.
enum ObjectKind: Hashable, CaseIterable {
    /// The key that wraps the others: the TCG's storage root key for P-256.
    case storage
    /// A P-256 key for signing and key agreement.
    case key
    /// Sealed bytes.
    case sealed

    /// TPMA_OBJECT. No object can be duplicated to another chip or under another parent. Wrong
    /// authorizations don't count towards a lockout of the chip: the authorization value of a key
    /// is 32 random bytes, which can't be guessed, and the authorization values of the storage key
    /// and of sealed bytes are empty.
    var attributes: UInt32 {
        let always =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH
            | TPMA_OBJECT_NODA
        return switch self {
        case .storage:
            always | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_RESTRICTED
                | TPMA_OBJECT_DECRYPT
        case .key:
            always | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_SIGN_ENCRYPT
                | TPMA_OBJECT_DECRYPT
        case .sealed: always
        }
    }

    /// The fields before `unique`.
    fileprivate var prefix: [UInt8] {
        let isCurve = self != .sealed
        var writer = ByteWriter()
        writer.number(UInt16(isCurve ? TPM2_ALG_ECC : TPM2_ALG_KEYEDHASH))
        writer.number(UInt16(TPM2_ALG_SHA256))
        writer.number(attributes)
        writer.number(UInt16(0))  // no policy
        if self == .storage {
            writer.number(UInt16(TPM2_ALG_AES))
            writer.number(UInt16(128))
            writer.number(UInt16(TPM2_ALG_CFB))
        } else if isCurve {
            writer.number(UInt16(TPM2_ALG_NULL))
        }
        writer.number(UInt16(TPM2_ALG_NULL))  // any scheme
        if isCurve {
            writer.number(UInt16(TPM2_ECC_NIST_P256))
            writer.number(UInt16(TPM2_ALG_NULL))  // no key derivation
        }
        return writer.result
    }
}

/// A public area that has been checked.
struct PublicArea: Hashable, Sendable {
    /// TPM2B_PUBLIC.
    let bytes: [UInt8]
    /// The coordinates of the point, 32 bytes each. Empty for sealed bytes.
    let point: [UInt8]

    /// The template from which a chip creates an object.
    static func template(_ kind: ObjectKind) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(kind.prefix)
        // One empty field for a hash, or two for the coordinates of a point.
        for _ in 0..<(kind == .sealed ? 1 : 2) { writer.number(UInt16(0)) }
        return UInt16(writer.result.count).bytes + writer.result
    }

    /// - Returns: `nil` if the bytes are not the public area of an object of this kind.
    init?(_ bytes: [UInt8], _ kind: ObjectKind) {
        var reader = ByteReader(bytes)
        let prefix = kind.prefix
        guard let size: UInt16 = reader.number(), Int(size) == reader.remainingCount,
            reader.bytes(prefix.count) == prefix
        else { return nil }
        var point: [UInt8] = []
        if kind == .sealed {
            guard let count: UInt16 = reader.number(), count == 32,
                reader.bytes(Int(count)) != nil
            else { return nil }
        } else {
            for _ in 0..<2 {
                guard let coordinate = reader.sized(), !coordinate.isEmpty,
                    let whole = coordinate.padded(to: 32)
                else { return nil }
                point += whole
            }
        }
        guard reader.isAtEnd else { return nil }
        self.bytes = bytes
        self.point = point
    }
}

extension PublicArea {
    /// Finds a storage key's public area at the end of the bytes.
    init?(ofStorageKeyAtEndOf bytes: [UInt8]) {
        let prefix = ObjectKind.storage.prefix
        // The size isn't known: coordinates have 32 bytes, or fewer on chips of older revisions. So
        // search backwards for the beginning.
        for start in stride(from: bytes.count - prefix.count - 2, through: 0, by: -1)
        where bytes[(start + 2)...].starts(with: prefix) {
            self.init(Array(bytes[start...]), .storage)
            return
        }
        return nil
    }

    /// The name of the object (TPM 2.0 Library, part 1, 16): the hash algorithm and the hash of
    /// TPMT_PUBLIC.
    var name: [UInt8] {
        UInt16(TPM2_ALG_SHA256).bytes + SecretBytes(copying: Array(bytes.dropFirst(2))).sha256
    }
}

extension ByteReader {
    /// Reads the next field, which starts with its size in two bytes.
    mutating func sized() -> [UInt8]? {
        guard let count: UInt16 = number() else { return nil }
        return bytes(Int(count))
    }
}

extension [UInt8] {
    /// Pads with leading zeros, which chips of older revisions omit from numbers; `nil` if there
    /// are more than `count` bytes.
    func padded(to count: Int) -> [UInt8]? {
        self.count > count ? nil : [UInt8](repeating: 0, count: count - self.count) + self
    }

    /// The bytes, preceded by their size in two bytes. The array must have fewer than 65,536 bytes.
    var sized: [UInt8] { UInt16(count).bytes + self }
}

extension UInt16 {
    var bytes: [UInt8] { [UInt8(truncatingIfNeeded: self >> 8), UInt8(truncatingIfNeeded: self)] }
}

// MARK: - Objects outside the chip

struct WrappedObject: Hashable, Sendable {
    let publicArea: PublicArea
    /// TPM2B_PRIVATE.
    let privateArea: [UInt8]

    var bytes: Data { Data(publicArea.bytes + privateArea) }

    init(publicArea: PublicArea, privateArea: [UInt8]) {
        self.publicArea = publicArea
        self.privateArea = privateArea
    }

    /// - Throws: `decode` if the bytes are not an object of this kind.
    init(_ bytes: Data, _ kind: ObjectKind) throws(KeychainFailure) {
        var reader = ByteReader(Array(bytes))
        guard let first = reader.sized(), let area = PublicArea(first.sized, kind),
            let second = reader.sized(), !second.isEmpty, reader.isAtEnd
        else {
            throw KeychainFailure(
                .decode, "The data for the TPM is damaged: it is not an object that a TPM created.",
                cause: .damage)
        }
        self.init(publicArea: area, privateArea: second.sized)
    }
}

#endif
