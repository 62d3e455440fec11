// The vectors of Documentation/Formats/secure-enclave-key-v1.md.

import Foundation
import FormatVectors
import KeychainCrypto
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct `Vectors of Secure Enclave keys` {
    @Test func `blobs`() throws {
        let file = try VectorFile<SecureEnclaveVector>.read("secure-enclave-key-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let failure = try check(test)
            #expect(failure == test.failure, "test \(test.tcId)")
            #expect((failure == nil) == (test.result == .valid), "test \(test.tcId)")
        }
        #expect(count == 34)
    }

    /// Opens a blob, and holds what it gives against the test.
    private func check(_ test: SecureEnclaveVector) throws -> SecureEnclaveVector.Failure? {
        let bytes = Data(test.blob.bytes)
        guard let blob = SecureEnclaveBlob(decoding: bytes) else { return .malformed }
        #expect(blob.encoded == bytes, "test \(test.tcId)")
        let keys = ClassKeys(classKey: test.classKey.secret, metadataKey: .random(byteCount: 32))
        let content: SecureEnclaveSealing.Content
        do {
            content = try SecureEnclaveSealing.open(
                blob, keychainID: test.keychainID.bytes, keys: keys)
        } catch {
            return .inauthentic
        }
        var value = content.authorization
        if blob.constraints.requiresApplicationPassword {
            let password = try #require(test.applicationPassword).secret
            do {
                value = try PasswordSealing.open(
                    value, password: password,
                    for: PasswordSealing.Binding(
                        keychainID: test.keychainID.bytes, reference: blob.identifier,
                        protection: blob.protection, itemClass: .key,
                        constraints: blob.constraints))
            } catch {
                return .applicationPassword
            }
        }
        #expect(Hex(blob.identifier.bytes) == test.identifier, "test \(test.tcId)")
        #expect(blob.protection.rawValue == test.protection, "test \(test.tcId)")
        #expect(
            Hex(bigEndianBytes(blob.constraints.rawValue)) == test.constraints,
            "test \(test.tcId)")
        #expect(Hex(Array(blob.publicKey)) == test.publicKey, "test \(test.tcId)")
        #expect(Hex(Array(blob.wrappedKey)) == test.wrappedKey, "test \(test.tcId)")
        #expect(content.enrollment.map { Hex(Array($0)) } == test.enrollment, "test \(test.tcId)")
        #expect(Hex(Array(value)) == test.authorization, "test \(test.tcId)")
        return nil
    }
}
