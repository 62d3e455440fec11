// KeyringEncryption: decrypts the files of gnome-keyring, which use AES-128-CBC under a password,
// with an MD5 of the content as a checksum. It is used for imports; such files are never written.

import Crypto
import CryptoExtras
package import FoundationEssentials
package import KeychainCore

package enum KeyringEncryption {
    /// More iterations than gnome-keyring ever writes, but few enough to take less than a second.
    package static let largestIterationCount: UInt32 = 1_000_000

    /// Decrypts the content of a keyring.
    ///
    /// - Parameters:
    ///   - ciphertext: The encrypted bytes. Their number must be a multiple of 16, and not 0.
    ///   - password: The password, which can be empty.
    ///   - salt: 8 bytes.
    ///   - iterations: 1 to ``largestIterationCount``.
    /// - Returns: The content with its padding and without the checksum; `nil` if the password is
    ///   wrong or the bytes were modified.
    package static func open(
        _ ciphertext: [UInt8], password: SecretBytes, salt: [UInt8], iterations: UInt32
    ) -> Data? {
        guard !ciphertext.isEmpty, ciphertext.count.isMultiple(of: 16),
            (1...largestIterationCount).contains(iterations)
        else { return nil }
        defer { MemoryScrubber.eraseFreedMemory() }
        var digest = SHA256.hash(data: password.plainBytes + salt)
        for _ in 1..<iterations { digest = SHA256.hash(data: Data(digest)) }
        let derived = Array(digest)
        guard let vector = try? AES._CBC.IV(ivBytes: derived[16...]),
            let plaintext = try? AES._CBC.decrypt(
                ciphertext, using: SymmetricKey(data: derived[..<16]), iv: vector, noPadding: true)
        else { return nil }
        let content = plaintext.dropFirst(16)
        guard Data(Insecure.MD5.hash(data: content)) == plaintext.prefix(16) else { return nil }
        return Data(content)
    }
}
