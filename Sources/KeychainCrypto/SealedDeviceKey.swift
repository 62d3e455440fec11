// SealedDeviceKey: the file format of a device key that hardware has sealed.
// Documentation/Formats/device-key-v2.md. As in version 1, everything stands twice.

package import FoundationEssentials
package import KeychainCore

package enum SealedDeviceKeyFile {
    private static let magic = Array("KCDK".utf8)
    private static let version: UInt8 = 2
    /// A TPM 2.0, the only kind of hardware in this version.
    private static let sealing: UInt8 = 1
    package static let sealedByteCounts = 1...1024
    /// magic 4, version 1, sealing 1, size 2, the sealed key, SHA-256 of all before.
    private static let overhead = 40

    /// The file's bytes. They hold no secret for a program without the hardware.
    package static func encode(_ sealed: Data) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(magic + [version, sealing])
        writer.number(UInt16(sealed.count))
        writer.bytes(sealed)
        let copy = writer.result + SecretBytes(copying: writer.result).sha256
        return copy + copy
    }

    /// A sealed device key as it was read.
    package struct Contents: Hashable {
        package let sealed: Data
        /// False when one of the two copies is damaged; the file should be written anew.
        package let isWhole: Bool
    }

    /// - Returns: nil for what has no sound copy, or two that differ: it may be of version 1.
    package static func decode(_ file: SecretBytes) -> Contents? {
        guard file.count.isMultiple(of: 2), file.count > 2 * overhead else { return nil }
        let half = file.count / 2
        // A file of version 1 is a secret, and stays in memory for secrets.
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
