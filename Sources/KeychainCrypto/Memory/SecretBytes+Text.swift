// SecretBytes+Text: how long a secret text is, told where it stands.

import KeychainCore

extension SecretBytes {
    /// The characters of UTF-8 text, as code points, and its words, which spaces part.
    var textCounts: (characters: Int, words: Int) {
        var characters = 0
        var words = 0
        var wasSpace = true
        // SAFETY: the subscripts are the buffer's indices, within the call.
        unsafe withUnsafeBytes { bytes in
            for index in bytes.indices {
                let byte = unsafe bytes[index]
                // Bytes that go on with a character begin with 10.
                if byte & 0xC0 != 0x80 { characters += 1 }
                let isSpace = byte == 0x20 || (0x09...0x0D).contains(byte)
                if wasSpace, !isSpace { words += 1 }
                wasSpace = isSpace
            }
        }
        return (characters, words)
    }
}
