// RecoveryCode: 128 random bits that open a keychain after the passcode was forgotten, or on
// another machine, and their form as twelve words. The verification key of an audit and the
// recovery code of a circle have the same form.
//   (1) The words are encoded as in BIP 39: 128 bits and the first 4 bits of their SHA-256, 11 bits
//       per word. A wrong word is therefore detected with a probability of 15/16.
//   (2) Input can contain capital letters, and any ASCII characters other than letters between the
//       words. The first four letters of each word are enough.
//   (3) Input is parsed in place without a copy, and the word numbers are erased.
//   (4) No error contains a word.

package import KeychainCore

package struct RecoveryCode: Sendable {
    package static let byteCount = 16
    package static let wordCount = 12

    package let bytes: SecretBytes

    package init(bytes: SecretBytes) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    package static func random() -> RecoveryCode {
        RecoveryCode(bytes: .random(byteCount: byteCount))
    }

    // MARK: Words

    /// The words of the code, to be printed once.
    package var words: [String] {
        let bits = bytes.plainBytes + [checksum << 4]
        return (0..<Self.wordCount).map { index in
            var number = 0
            for bit in index * 11..<(index + 1) * 11 {
                number = number << 1 | Int(bits[bit / 8] >> (7 - bit % 8) & 1)
            }
            return String(decoding: RecoveryWords.all[number], as: UTF8.self)
        }
    }

    /// - Parameter typed: The words as a user typed them, in UTF-8.
    /// - Throws: `param` if the code is invalid; for an unknown word, the message contains its
    ///   position.
    package init(words typed: SecretBytes) throws(KeychainFailure) {
        defer { MemoryScrubber.eraseFreedMemory() }
        // SAFETY: the buffer is used only during the call.
        let numbers = try unsafe typed.withUnsafeBytes {
            typed throws(KeychainFailure) in unsafe try Self.numbers(of: typed)
        }
        guard numbers.count == Self.wordCount else {
            throw .param(
                "\(Self.wordCount) words are needed, but the input has \(numbers.count).")
        }
        bytes = unsafe SecretBytes(byteCount: Self.byteCount) { target in
            for bit in 0..<Self.byteCount * 8 where numbers[bit / 11] >> (10 - bit % 11) & 1 == 1 {
                // SAFETY: all bit positions lie within the block.
                unsafe target[bit / 8] |= 1 << (7 - bit % 8)
            }
        }
        guard numbers[Self.wordCount - 1] & 0xF == checksum else {
            throw .param(
                "The words are not valid: at least one of them is wrong or in the wrong place.")
        }
    }

    private var checksum: UInt8 { bytes.sha256[0] >> 4 }

    private static func numbers(
        of typed: UnsafeRawBufferPointer
    ) throws(KeychainFailure) -> [UInt16] {
        // SAFETY: positions are below the buffer's count, and its parts are used only during the
        // call.
        var numbers: [UInt16] = []
        var start: Int?
        for position in 0...typed.count {
            let isLetter = unsafe position < typed.count && isLetter(typed[position])
            if isLetter {
                if start == nil { start = position }
            } else if let first = start {
                start = nil
                guard
                    let number = unsafe number(
                        of: UnsafeRawBufferPointer(rebasing: typed[first..<position]))
                else {
                    throw .param(
                        "Word \(numbers.count + 1) is not in the word list of recovery codes.")
                }
                numbers.append(number)
            }
        }
        return numbers
    }

    /// Any non-ASCII byte counts as a letter, so that its word is rejected.
    private static func isLetter(_ byte: UInt8) -> Bool {
        byte >= 0x80 || (0x61...0x7A).contains(byte | 0x20)
    }

    private static func number(of typed: UnsafeRawBufferPointer) -> UInt16? {
        RecoveryWords.all.firstIndex { word in
            // Four letters identify a word. Fewer letters must be a whole word.
            guard typed.count == word.count || typed.count >= 4 && typed.count < word.count else {
                return false
            }
            // SAFETY: the indices are those of `typed`. The word has at least as many bytes.
            return typed.indices.allSatisfy { unsafe typed[$0] | 0x20 == word[$0] }
        }.map { UInt16($0) }
    }
}
