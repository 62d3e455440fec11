// Fingerprint: hashes that identify and do not protect.

import Crypto

package enum Fingerprint {
    /// SHA-1, for values that Apple's interface defines by it. 20 bytes.
    package static func sha1(of bytes: [UInt8]) -> [UInt8] {
        Array(Insecure.SHA1.hash(data: bytes))
    }
}
