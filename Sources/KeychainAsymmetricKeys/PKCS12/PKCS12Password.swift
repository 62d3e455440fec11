// PKCS12Password: a password in the two forms that one container takes.

/// A password, or that there is none.
struct PKCS12Password {
    /// Nil for no password, which makes another key than an empty one.
    let text: String?

    /// For the authentication code and the older ciphers: UTF-16 and two zero bytes.
    var wide: [UInt8] {
        text.map { $0.bigEndianUTF16 + [0, 0] } ?? []
    }

    /// For PBES2. RFC 7292 says nothing of it; all programs take UTF-8.
    var utf8: [UInt8] {
        text.map { Array($0.utf8) } ?? []
    }
}
