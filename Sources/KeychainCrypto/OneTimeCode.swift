// OneTimeCode: one-time passwords of RFC 4226 (HOTP) and RFC 6238 (TOTP).

import Crypto

package enum OneTimeCode {
    package enum Algorithm: String, CaseIterable, Hashable, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// Computes the code for a secret and a counter, with 6 to 8 digits and leading zeros.
    package static func code(
        of secret: [UInt8], counter: UInt64, digits: Int, by algorithm: Algorithm
    ) -> String {
        let key = SymmetricKey(data: secret)
        let message = bytes(of: counter)
        let hash =
            switch algorithm {
            case .sha1:
                Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: key))
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: message, using: key))
            }
        // RFC 4226, section 5.3: the hash's last four bits are the offset of the four bytes that
        // are used, except for their highest bit.
        let start = Int((hash.last ?? 0) & 0xF)
        let number = hash[start..<start + 4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        var rest = number & 0x7FFF_FFFF
        var text: [UInt8] = []
        for _ in 0..<digits {
            text.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        }
        return String(decoding: text.reversed(), as: UTF8.self)
    }

    /// The eight bytes of the counter in big-endian order.
    private static func bytes(of counter: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
    }
}
