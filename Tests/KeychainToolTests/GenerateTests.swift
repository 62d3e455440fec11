// The random secrets and passphrases of the `generate` command.

import KeychainCrypto
import Testing

@testable import KeychainTool

@Suite struct `Generated secrets` {
    @Test(arguments: [
        (SecretAlphabet.alphanumeric, 62, 142), (.letters, 52, 136), (.digits, 10, 79),
        (.hex, 16, 96), (.printable, 94, 157),
    ])
    func `a generated secret has characters of its alphabet, and the stated entropy`(
        _ alphabet: SecretAlphabet, _ count: Int, _ bits: Int
    ) {
        let characters = Array(alphabet.characters)
        #expect(characters.count == count && Set(characters).count == count)
        let secret = RandomSecret(length: 24, of: characters)
        #expect(secret.bits == bits)
        #expect(secret.text.count == 24 && secret.text.allSatisfy(characters.contains))
        #expect(secret.text != RandomSecret(length: 24, of: characters).text)
    }

    /// Each character is expected 1000 times. A deviation of a quarter would be 8 standard
    /// deviations.
    @Test func `a generated secret has all characters with equal probability`() {
        let characters = Array(SecretAlphabet.alphanumeric.characters)
        let drawn = RandomSecret(length: 62_000, of: characters).text
        let counts = Dictionary(grouping: drawn) { $0 }.mapValues(\.count)
        #expect(counts.count == 62)
        #expect(counts.values.allSatisfy { (750...1250).contains($0) })
    }

    @Test func `a generated passphrase has words from the recovery list, with 11 bits each`() {
        let secret = RandomSecret(words: 6, separator: " ")
        #expect(secret.bits == 66)
        let (words, list) = (secret.text.split(separator: " "), Set(RecoveryWords.all))
        #expect(words.count == 6)
        #expect(words.allSatisfy { list.contains(Array($0.utf8)) })
    }
}
