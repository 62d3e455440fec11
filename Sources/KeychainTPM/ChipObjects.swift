// ChipObjects: what a chip makes, in the encoding of the TPM 2.0 Library, part 2, most significant
// byte first.
//   (1) TPM2B_PUBLIC is the public part of the three kinds of objects. What is read is exactly what
//       this file would have the chip make, or it is refused.
//   (2) An object that is kept outside the chip is TPM2B_PUBLIC ‖ TPM2B_PRIVATE. The private part
//       is encrypted and authenticated by the chip, together with the name of the public part.
//   (3) What is read encodes again to the same bytes.

#if TPM

import CKeychainTSS2
import FoundationEssentials
import KeychainCore
import KeychainCrypto

// MARK: - The public part

/// The kind of an object.
enum ObjectKind: Hashable, CaseIterable {
    /// What wraps the others: the storage root key, as the TCG describes it for P-256.
    case storage
    /// A key on P-256 that signs and agrees.
    case key
    /// Some bytes.
    case sealed

    /// TPMA_OBJECT. No object leaves the chip or its parent. Wrong authorizations don't count
    /// towards a lockout of the chip: an authorization is 32 random bytes, which can't be guessed.
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

    /// Everything before the field `unique`.
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

/// A public area that was checked.
struct PublicArea: Hashable, Sendable {
    /// TPM2B_PUBLIC.
    let bytes: [UInt8]
    /// The coordinates, 32 bytes each. Empty for sealed bytes.
    let point: [UInt8]

    /// What a chip is asked to make.
    static func template(_ kind: ObjectKind) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(kind.prefix)
        // One empty field for a hash, two for the coordinates of a point.
        for _ in 0..<(kind == .sealed ? 1 : 2) { writer.number(UInt16(0)) }
        return UInt16(writer.result.count).bytes + writer.result
    }

    /// - Returns: nil for anything that isn't the public area of such an object.
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
    /// The public area that some bytes end with.
    init?(ofStorageKeyAtEndOf bytes: [UInt8]) {
        let prefix = ObjectKind.storage.prefix
        // Coordinates are 32 bytes long, or less on chips of older revisions.
        for start in stride(from: bytes.count - prefix.count - 2, through: 0, by: -1)
        where bytes[(start + 2)...].starts(with: prefix) {
            self.init(Array(bytes[start...]), .storage)
            return
        }
        return nil
    }

    /// TPM 2.0 Library, part 1, 16: the hash algorithm and the hash of TPMT_PUBLIC.
    var name: [UInt8] {
        UInt16(TPM2_ALG_SHA256).bytes + SecretBytes(copying: Array(bytes.dropFirst(2))).sha256
    }
}

extension ByteReader {
    /// The next field that begins with its size in two bytes.
    mutating func sized() -> [UInt8]? {
        guard let count: UInt16 = number() else { return nil }
        return bytes(Int(count))
    }
}

extension [UInt8] {
    /// With zeros in front: chips of older revisions leave those of a number out.
    func padded(to count: Int) -> [UInt8]? {
        self.count > count ? nil : [UInt8](repeating: 0, count: count - self.count) + self
    }

    /// Behind their size in two bytes. There are fewer than 65536.
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

    /// - Throws: `decode` for what this chip's kind never made.
    init(_ bytes: Data, _ kind: ObjectKind) throws(KeychainFailure) {
        var reader = ByteReader(Array(bytes))
        guard let first = reader.sized(), let area = PublicArea(first.sized, kind),
            let second = reader.sized(), !second.isEmpty, reader.isAtEnd
        else {
            throw KeychainFailure(
                .decode, "What a TPM is to use is damaged: it isn't what a TPM made.",
                cause: .damage)
        }
        self.init(publicArea: area, privateArea: second.sized)
    }
}

#endif
