// RecoveryCodeTests: the words of a recovery code, the minimum strength of passcodes, and the cost
// of the key derivation from a passcode.

import KeychainCore
import Testing

@testable import KeychainCrypto

private func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }

/// Five of the 128-bit test vectors of BIP 39 (trezor/python-mnemonic, vectors.json).
private let vectors: [(bytes: [UInt8], words: String)] = [
    (
        [UInt8](repeating: 0, count: 16),
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon "
            + "about"
    ),
    (
        [UInt8](repeating: 0x7F, count: 16),
        "legal winner thank year wave sausage worth useful legal winner thank yellow"
    ),
    (
        [UInt8](repeating: 0x80, count: 16),
        "letter advice cage absurd amount doctor acoustic avoid letter advice cage above"
    ),
    ([UInt8](repeating: 0xFF, count: 16), "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong"),
    (
        [
            0x9E, 0x88, 0x5D, 0x95, 0x2A, 0xD3, 0x62, 0xCA, 0xEB, 0x4E, 0xFE, 0x34, 0xA8, 0xE9,
            0x1B, 0xD2,
        ],
        "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic"
    ),
]

@Suite struct `Recovery codes` {
    @Test func `the words of a recovery code are those of BIP 39`() throws {
        var count = 0
        for (bytes, words) in vectors {
            let code = RecoveryCode(bytes: SecretBytes(copying: bytes))
            #expect(code.words.joined(separator: " ") == words)
            #expect(try RecoveryCode(words: secret(words)).bytes.plainBytes == bytes)
            count += 1
        }
        #expect(count == 5)
        #expect(RecoveryWords.all.count == 2048)
        #expect(Set(RecoveryWords.all.map { $0.prefix(4) }).count == 2048)
    }

    @Test
    func `a recovery code is accepted in uppercase, abbreviated, numbered or with extra spaces`()
        throws
    {
        let (bytes, words) = vectors[4]
        let typed = [
            words.uppercased(), "  " + words.split(separator: " ").joined(separator: "\n ") + "\n",
            words.split(separator: " ").map { $0.prefix(4) }.joined(separator: " "),
            words.split(separator: " ").enumerated().map { "\($0 + 1). \($1)," }.joined(),
        ]
        for text in typed {
            #expect(try RecoveryCode(words: secret(text)).bytes.plainBytes == bytes, "\(text)")
        }
    }

    @Test
    func `the error for an invalid recovery code says what is wrong and doesn't quote the code`() {
        let words = vectors[4].words
        let wrong = [
            ("", "0"), (words + " zoo", "13"), (words.replacing("picnic", with: ""), "11"),
            (words.replacing("drill", with: "drilll"), "Word 2"),
            (words.replacing("grab", with: "gra"), "Word 3"),
            (words.replacing("grab", with: "gräb"), "Word 3"),
            (words.replacing("drill grab", with: "grab drill"), "in the wrong place"),
        ]
        for (text, part) in wrong {
            do throws(KeychainFailure) {
                _ = try RecoveryCode(words: secret(text))
                Issue.record("the invalid code was accepted: \(text)")
            } catch {
                #expect(error.status == .param)
                #expect(error.reason.contains(part), "\(error.reason)")
                #expect(!error.reason.contains("ozone"))
            }
        }
    }
}

@Suite struct `Minimum strength and cost of passcodes` {
    @Test func `a passcode needs twelve characters or five words, unless a weak one is allowed`()
        throws
    {
        for good in ["123456789012", "zwölf Zeichen", "日 本 語 五 語", "a b c d e", "ääääääääääää"] {
            #expect(throws: Never.self) { try PasscodePolicy.floor.check(secret(good)) }
        }
        for short in ["", "12345678901", "äääääääää", "a b c d", "           "] {
            #expect(throws: KeychainFailure.self) { try PasscodePolicy.floor.check(secret(short)) }
            #expect(throws: Never.self) { try PasscodePolicy.weak.check(secret(short)) }
        }
    }

    @Test
    func `the scrypt cost is the highest within the time and memory limits, from 2^17 to 2^19`() {
        func logN(_ milliseconds: Int, memory: Int = 64 << 30) -> UInt8 {
            PasscodeCost.calibrated(
                toward: .seconds(1), memory: memory, measuring: { _ in .milliseconds(milliseconds) }
            ).logN
        }
        #expect(logN(5000) == 17)
        #expect(logN(501) == 17)
        #expect(logN(400) == 18)
        #expect(logN(200) == 19)
        #expect(logN(1) == 19)
        #expect(logN(1, memory: 1 << 30) == 17)
        #expect(logN(1, memory: 2 << 30) == 18)
        #expect(PasscodeCost.standard.logN == 17 && PasscodeCost.applicationPassword.logN == 17)
        #expect(PasscodeCost.physicalMemory > 1 << 20)
    }
}
