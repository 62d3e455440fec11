// Fingerprint: hashes that identify and do not protect.

import Crypto

package enum Fingerprint {
    /// SHA-1, for values that Apple's interface defines by it. 20 bytes.
    package static func sha1(of bytes: [UInt8]) -> [UInt8] {
        Array(Insecure.SHA1.hash(data: bytes))
    }

    /// SHA-256 of a file from its present position to its end, 32 bytes.
    /// - Throws: ``ReadFailure``
    package static func sha256(ofFile descriptor: Int32) throws(ReadFailure) -> [UInt8] {
        var hash = SHA256()
        var isAtEnd = false
        while !isAtEnd {
            let part = try [UInt8](readingFrom: descriptor, atMost: 1 << 18)
            hash.update(data: part)
            isAtEnd = part.isEmpty
        }
        return Array(hash.finalize())
    }
}
