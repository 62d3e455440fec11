// Base32: the encoding of RFC 4648, section 6. Encoding adds no padding. Decoding accepts
// lower-case letters and needs no padding, because users type Base32 in this way.

enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var bits = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 & 0xFFFF | Int(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[bits >> count & 31])
            }
        }
        if count > 0 { text.append(alphabet[bits << (5 - count) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes Base32. Case is ignored. All `=` at the end, and the bits that are left over after
    /// the last byte, are ignored, too.
    ///
    /// - Returns: The bytes, or `nil` if the rest of the text is not valid Base32 or is empty.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var characters = Array(text.utf8)
        while characters.last == UInt8(ascii: "=") { characters.removeLast() }
        // A group has 8 characters. If the last group has 1, 3 or 6, the text is incomplete: no
        // number of bytes has such an encoding.
        guard !characters.isEmpty, ![1, 3, 6].contains(characters.count % 8) else { return nil }
        var bytes: [UInt8] = []
        var bits = 0
        var count = 0
        for character in characters {
            let capital = (97...122).contains(character) ? character - 32 : character
            guard let value = alphabet.firstIndex(of: capital) else { return nil }
            bits = bits << 5 & 0xFFFF | value
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(bits >> count & 0xFF))
            }
        }
        return bytes
    }
}
