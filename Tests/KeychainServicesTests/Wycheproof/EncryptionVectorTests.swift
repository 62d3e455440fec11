// EncryptionVectorTests: Wycheproof's OAEP ciphertexts, decrypted by SecKeyCreateDecryptedData.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// A file of ciphertexts.
private struct EncryptionFile: Sendable, CustomTestStringConvertible {
    let name: String
    /// The number of tests in the file.
    let tests: Int
    /// The number of ciphertexts that can be decrypted.
    let opening: Int

    var testDescription: String { name }
}

private let files: [EncryptionFile] = [
    EncryptionFile(name: "rsa_oaep_2048_sha1_mgf1sha1", tests: 34, opening: 10),
    EncryptionFile(name: "rsa_oaep_2048_sha256_mgf1sha256", tests: 35, opening: 10),
    EncryptionFile(name: "rsa_oaep_misc", tests: 171, opening: 151),
]

@Suite struct `Wycheproof's ciphertexts` {
    @Test(.cases(3), arguments: files)
    fileprivate func `valid ciphertexts are decrypted, and invalid paddings give the same error`(
        _ file: EncryptionFile
    ) throws {
        let tests = try WycheproofFile.read(file.name, values: 3).tests
        var keys: [Data: SecKey] = [:]
        var opening = 0
        var refusals: Set<String> = []
        for test in tests {
            let known = try keys[test.key] ?? key(.rsa, .privateKey, test.key)
            keys[test.key] = known
            let name = "encrypt:RSA:OAEP:\(test.hash)"
            #expect(known.supports(.decrypt, name))
            do throws(KeyRefusal) {
                let message = try known.decrypted(name, test.values[0])
                #expect(Self.expected(test), "\(file.name) \(test.number)")
                #expect(message == test.values[2], "\(file.name) \(test.number)")
                opening += 1
            } catch {
                #expect(!Self.expected(test), "\(file.name) \(test.number)")
                if test.values[0].count == test.bits / 8 { refusals.insert("\(error)") }
            }
        }
        #expect(tests.count == file.tests)
        #expect(opening == file.opening)
        // Manger's attack: an attacker who learns what was wrong with a padding can decrypt the
        // message.
        #expect(refusals.count == 1)
    }

    /// The tests with the result `acceptable` concern the key size: keys of at least 1024 bits are
    /// accepted.
    private static func expected(_ test: WycheproofTest) -> Bool {
        // No function of SecKey takes an OAEP label. A ciphertext with a label can't be decrypted
        // without the label.
        test.values[1].isEmpty && test.result != .invalid
    }
}

#endif
