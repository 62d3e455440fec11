// DeviceKey: the file format of the key that all other keys are under.
// Documentation/Formats/device-key-v1.md. The key stands twice, so that one flipped byte
// doesn't lose a keychain.

package import KeychainCore

package enum DeviceKeyFile {
    package static let byteCount = 2 * copyByteCount
    private static let magic = Array("KCDK".utf8)
    private static let version: UInt8 = 1
    /// magic 4, version 1, zero 3, key 32, SHA-256 of these 40 bytes.
    private static let copyByteCount = 72

    /// The file's bytes. They hold the key, so they are a secret too.
    package static func encode(_ key: SecretBytes) -> SecretBytes {
        let head = SecretBytes(copying: magic + [version, 0, 0, 0]).appending(key)
        let copy = head.appending(SecretBytes(copying: head.sha256))
        return copy.appending(copy)
    }

    /// A device key as it was read.
    package struct Contents {
        package let key: SecretBytes
        /// False when one of the two copies is damaged; the file should be written anew.
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
