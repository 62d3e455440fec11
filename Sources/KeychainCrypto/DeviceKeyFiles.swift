// DeviceKeyFiles: the file formats of the device key, at the root of the key hierarchy.
//   (1) Unencrypted: Documentation/Formats/device-key-v1.md. Sealed by hardware:
//       Documentation/Formats/device-key-v2.md.
//   (2) Everything is stored twice, so that one damaged byte doesn't make a keychain unreadable.

package import FoundationEssentials
package import KeychainCore

package enum DeviceKeyFile {
    package static let byteCount = 2 * copyByteCount
    private static let magic = Array("KCDK".utf8)
    private static let version: UInt8 = 1
    /// magic 4, version 1, zero 3, key 32, SHA-256 of these 40 bytes.
    private static let copyByteCount = 72

    /// Encodes the file. The bytes contain the key and are therefore secret too.
    package static func encode(_ key: SecretBytes) -> SecretBytes {
        let head = SecretBytes(copying: magic + [version, 0, 0, 0]).appending(key)
        let copy = head.appending(SecretBytes(copying: head.sha256))
        return copy.appending(copy)
    }

    /// A device key that was read.
    package struct Contents {
        package let key: SecretBytes
        /// `false` if one of the two copies is damaged. The file should then be rewritten.
        package let isWhole: Bool
    }

    package static func decode(_ file: SecretBytes) throws(KeychainFailure) -> Contents {
        guard file.count == byteCount else { throw notADeviceKey }
        let prefix = SecretBytes(copying: magic + [version, 0, 0, 0])
        let copies = [0, copyByteCount].compactMap { start -> SecretBytes? in
            let head = file.slice(start..<start + 40)
            let hash = SecretBytes(copying: head.sha256)
            guard head.slice(0..<8).isEqual(to: prefix),
                hash.isEqual(to: file.slice(start + 40..<start + copyByteCount))
            else { return nil }
            return head.slice(8..<40)
        }
        guard let key = copies.first else { throw notADeviceKey }
        if copies.count == 2, !copies[1].isEqual(to: key) { throw notADeviceKey }
        return Contents(key: key, isWhole: copies.count == 2)
    }

    private static let notADeviceKey = KeychainFailure(
        .invalidKeychain,
        "The device key file is damaged or not a device key. Without it no item can be read: "
            + "restore `device.key` from a backup.")
}

package enum SealedDeviceKeyFile {
    private static let magic = Array("KCDK".utf8)
    private static let version: UInt8 = 2
    /// A TPM 2.0, the only kind of hardware in this version.
    private static let sealing: UInt8 = 1
    package static let sealedByteCounts = 1...1024
    /// magic 4, version 1, sealing 1, size 2, the sealed key, SHA-256 of all bytes before it.
    private static let overhead = 40

    /// Encodes the file. Without the hardware, the bytes reveal no secret.
    package static func encode(_ sealed: Data) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(magic + [version, sealing])
        writer.number(UInt16(sealed.count))
        writer.bytes(sealed)
        let copy = writer.result + SecretBytes(copying: writer.result).sha256
        return copy + copy
    }

    /// A sealed device key that was read.
    package struct Contents: Hashable {
        package let sealed: Data
        /// `false` if one of the two copies is damaged. The file should then be rewritten.
        package let isWhole: Bool
    }

    /// - Returns: `nil` if no copy is intact, or if the two copies differ. The file may then be one
    ///   of version 1.
    package static func decode(_ file: SecretBytes) -> Contents? {
        guard file.count.isMultiple(of: 2), file.count > 2 * overhead else { return nil }
        let half = file.count / 2
        // A file of version 1 is secret, so the bytes stay in secret memory.
        let start = SecretBytes(copying: magic + [version, sealing])
        let copies = [file.slice(0..<half), file.slice(half..<file.count)]
            .filter { $0.slice(0..<6).isEqual(to: start) }
            .compactMap { sealedKey(of: $0.plainBytes) }
        guard let sealed = copies.first, copies.allSatisfy({ $0 == sealed }) else { return nil }
        return Contents(sealed: sealed, isWhole: copies.count == 2)
    }

    private static func sealedKey(of copy: [UInt8]) -> Data? {
        var reader = ByteReader(copy)
        guard reader.bytes(6) == magic + [version, sealing], let count: UInt16 = reader.number(),
            sealedByteCounts.contains(Int(count)), copy.count == Int(count) + overhead,
            let sealed = reader.bytes(Int(count)), let hash = reader.bytes(32),
            SecretBytes(copying: copy.prefix(copy.count - 32)).sha256 == hash
        else { return nil }
        return Data(sealed)
    }
}
