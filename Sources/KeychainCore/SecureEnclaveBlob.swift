// SecureEnclaveBlob: the form in which a keychain returns a hardware key.
// Documentation/Formats/secure-enclave-key-v1.md.
//   (1) The part that the keychain doesn't encrypt contains the identifier, the protection class,
//       the constraints, the public key and the wrapped key. The keychain that created the blob
//       verifies all of it each time it uses the key.
//   (2) Decoding checks only the format. A decoded blob encodes to the same bytes.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// A hardware key: the key wrapped by the hardware, and its authorization value sealed by the
/// keychain.
package struct SecureEnclaveBlob: Hashable, Sendable {
    /// An identifier that never changes, like the reference of an item.
    package var identifier: ItemReference
    package var protection: ProtectionClass
    package var constraints: AccessConstraints
    /// 04 ‖ X ‖ Y.
    package var publicKey: Data
    /// The key, wrapped by the hardware.
    package var wrappedKey: Data
    /// The key's authorization value and the biometric enrollment to which the key is bound, if
    /// any, sealed under a key of the protection class.
    package var sealedAuthorization: Data

    package static let publicKeyByteCount = 65
    package static let wrappedKeySizes = 1...4096
    /// The nonce, 12 bytes; the ciphertext, 33 to 149 bytes; and the tag, 16 bytes.
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

    /// The bytes before the sealed authorization. They are the last part of the associated data of
    /// the sealed authorization.
    ///
    /// - Parameter sealedByteCount: The size of the sealed authorization, which the total size
    ///   includes.
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

    /// - Returns: `nil` if the bytes don't have the format of a blob.
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
