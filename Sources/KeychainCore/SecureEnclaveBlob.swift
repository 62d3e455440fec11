// SecureEnclaveBlob: the form in which a keychain hands out a key that hardware keeps.
// Documentation/Formats/secure-enclave-key-v1.md.
//   (1) What is in the clear says when and for whom the key can be used, and its public half. The
//       keychain that made the blob checks all of it whenever it uses the key.
//   (2) Reading checks the form alone. What was read encodes again to the same bytes.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// A key in hardware, wrapped by the hardware and by the keychain.
package struct SecureEnclaveBlob: Hashable, Sendable {
    /// What stays the same about the key, as about an item.
    package var identifier: ItemReference
    package var protection: ProtectionClass
    package var constraints: AccessConstraints
    /// 04 ‖ X ‖ Y.
    package var publicKey: Data
    /// The key as the hardware wrapped it.
    package var wrappedKey: Data
    /// The key's authorization value, under a key of the protection class.
    package var sealedAuthorization: Data

    package static let publicKeyByteCount = 65
    package static let wrappedKeySizes = 1...4096
    /// Nonce, tag, and 33 to 149 bytes between them.
    package static let sealedAuthorizationSizes = 61...177
    private static let magic = Array("KCE1".utf8)
    private static let headByteCount = 101

    package init(
        identifier: ItemReference, protection: ProtectionClass, constraints: AccessConstraints,
        publicKey: Data, wrappedKey: Data, sealedAuthorization: Data = Data()
    ) {
        self.identifier = identifier
        self.protection = protection
        self.constraints = constraints
        self.publicKey = publicKey
        self.wrappedKey = wrappedKey
        self.sealedAuthorization = sealedAuthorization
    }

    // MARK: Encoding

    package var encoded: Data { Data(head) + sealedAuthorization }

    /// Everything before the sealed authorization, which is authenticated with it.
    ///
    /// - Parameter sealedByteCount: The size of what follows, which the total counts.
    /// - Returns: The bytes.
    package func head(sealedByteCount: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.headByteCount + wrappedKey.count)
        writer.bytes(Self.magic)
        writer.number(
            UInt32(
                truncatingIfNeeded: Self.headByteCount + wrappedKey.count + sealedByteCount))
        identifier.value.write(to: &writer)
        writer.number(protection.rawValue)
        writer.number(0 as UInt8)
        writer.number(UInt16(truncatingIfNeeded: wrappedKey.count))
        writer.number(constraints.rawValue)
        writer.bytes(publicKey)
        writer.bytes(wrappedKey)
        return writer.result
    }

    private var head: [UInt8] { head(sealedByteCount: sealedAuthorization.count) }

    // MARK: Decoding

    /// - Returns: nil for bytes that ``encoded`` can't have given.
    package init?(decoding blob: Data) {
        var reader = ByteReader(Array(blob))
        guard reader.bytes(Self.magic.count) == Self.magic,
            let total: UInt32 = reader.number(), Int(total) == blob.count,
            let identifier = reader.bytes(ItemReference.byteCount).flatMap({
                ItemReference(bytes: $0)
            }),
            let protectionCode: UInt8 = reader.number(),
            let protection = ProtectionClass(rawValue: protectionCode),
            let reserved: UInt8 = reader.number(), reserved == 0,
            let wrappedCount: UInt16 = reader.number(),
            Self.wrappedKeySizes.contains(Int(wrappedCount)),
            let bits: UInt64 = reader.number(),
            case let constraints = AccessConstraints(rawValue: bits),
            constraints.isSubset(of: .known),
            let publicKey = reader.bytes(Self.publicKeyByteCount), publicKey.first == 4,
            let wrappedKey = reader.bytes(Int(wrappedCount)),
            Self.sealedAuthorizationSizes.contains(reader.remainingCount),
            let sealed = reader.bytes(reader.remainingCount)
        else { return nil }
        self.init(
            identifier: identifier, protection: protection, constraints: constraints,
            publicKey: Data(publicKey), wrappedKey: Data(wrappedKey),
            sealedAuthorization: Data(sealed))
    }
}
