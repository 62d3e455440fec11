// SecretBytes+Text: measures the length of a secret text in place.

import KeychainCore

extension SecretBytes {
    /// The number of characters (Unicode code points) in the UTF-8 text, and of words, which are
    /// separated by ASCII white space.
    var textCounts: (characters: Int, words: Int) {
        var characters = 0
        var words = 0
        var wasSpace = true
        // SAFETY: the subscripts are the buffer's indices, and the buffer is used only during the
        // call.
        unsafe withUnsafeBytes { bytes in
            for index in bytes.indices {
                let byte = unsafe bytes[index]
                // The continuation bytes of a character start with the bits 10.
                if byte & 0xC0 != 0x80 { characters += 1 }
                let isSpace = byte == 0x20 || (0x09...0x0D).contains(byte)
                if wasSpace, !isSpace { words += 1 }
                wasSpace = isSpace
            }
        }
        return (characters, words)
    }
}
