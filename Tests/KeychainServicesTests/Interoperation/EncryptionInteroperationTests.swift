// EncryptionInteroperationTests: RSA ciphertexts made by this package and decrypted by OpenSSL, and
// the reverse.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

private let hashes = ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"]

extension OpenSSLPair {
    fileprivate func encrypted(_ message: Data, _ options: [String]) throws -> Data {
        try openSSL.run(
            ["pkeyutl", "-encrypt", "-pubin", "-inkey", publicFile] + words(options),
            input: message)
    }

    fileprivate func decrypted(_ sealed: Data, _ options: [String]) throws -> Data {
        try openSSL.run(
            ["pkeyutl", "-decrypt", "-inkey", privateFile] + words(options), input: sealed)
    }

    private func words(_ options: [String]) -> [String] {
        options.flatMap { ["-pkeyopt", $0] }
    }

    /// Encrypts an empty message, a message of one byte, and the longest message that fits, each
    /// with this package and with OpenSSL, and decrypts each ciphertext with the other. This
    /// package must refuse to encrypt a message that is one byte longer.
    fileprivate func exchange(_ name: String, overhead: Int, _ options: [String]) throws {
        let half = try publicKey()
        let mine = try privateKey()
        let maximum = form.byteCount - overhead
        for count in [0, 1, maximum] {
            let message = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &+ 1) })
            #expect(try mine.decrypted(name, encrypted(message, options)) == message)
            let ours = try half.encrypted(name, message)
            #expect(try decrypted(ours, options) == message)
            #expect(try mine.decrypted(name, ours) == message)
        }
        let refusal = #expect(throws: KeyRefusal.self) {
            try half.encrypted(name, Data(repeating: 1, count: maximum + 1))
        }
        #expect(refusal?.code == -50)
    }
}

@Suite struct `RSA encryption and OpenSSL` {
    @Test(arguments: KeyForm.rsa)
    func `PKCS 1 padding is compatible with OpenSSL`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        try pair.exchange("encrypt:RSA:PKCS1", overhead: 11, ["rsa_padding_mode:pkcs1"])
    }

    @Test(arguments: KeyForm.rsa)
    func `OAEP is compatible with OpenSSL`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        for (hash, size) in zip(hashes, [20, 28, 32, 48, 64]) {
            try pair.exchange(
                "encrypt:RSA:OAEP:\(hash)", overhead: 2 * size + 2,
                [
                    "rsa_padding_mode:oaep", "rsa_oaep_md:\(hash)", "rsa_mgf1_md:\(hash)",
                ])
        }
    }

    @Test func `raw RSA on bytes padded by the caller is compatible with OpenSSL`() throws {
        let pair = try OpenSSLPair(.rsa2048, in: OpenSSL())
        let padded = Data([0]) + Data((1..<256).map { UInt8($0) })
        let options = ["rsa_padding_mode:none"]
        let theirs = try pair.encrypted(padded, options)
        #expect(try pair.publicKey().encrypted("encrypt:RSA:raw", padded) == theirs)
        #expect(try pair.privateKey().decrypted("encrypt:RSA:raw", theirs) == padded)
    }

    /// The ciphertext has the form that SecKey.h describes: an AES key, encrypted with OAEP,
    /// followed by the message, encrypted with that AES key. The initialization vector is all zero.
    /// The public key is the associated data.
    @Test(arguments: KeyForm.rsa)
    func `OAEP with AES is compatible with OpenSSL`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        let vector = try AES.GCM.Nonce(data: Data(count: 16))
        let size = form == .rsa4096 ? 32 : 16
        let known = try pair.publicBytes()
        let message = Data(repeating: 3, count: 3000)
        for hash in hashes {
            let name = "encrypt:RSA:OAEP:\(hash):AESGCM"
            let options = [
                "rsa_padding_mode:oaep", "rsa_oaep_md:\(hash)", "rsa_mgf1_md:\(hash)",
            ]
            let ours = try pair.publicKey().encrypted(name, message)
            let theirKey = try pair.decrypted(Data(ours.prefix(form.byteCount)), options)
            #expect(theirKey.count == size)
            let body = ours.dropFirst(form.byteCount)
            let box = try AES.GCM.SealedBox(
                nonce: vector, ciphertext: body.dropLast(16), tag: body.suffix(16))
            let opened = try AES.GCM.open(
                box, using: SymmetricKey(data: theirKey), authenticating: known)
            #expect(opened == message)

            let myKey = Data(repeating: 5, count: size)
            let sealed = try AES.GCM.seal(
                message, using: SymmetricKey(data: myKey), nonce: vector, authenticating: known)
            let theirs = try pair.encrypted(myKey, options) + sealed.ciphertext + sealed.tag
            #expect(try pair.privateKey().decrypted(name, theirs) == message)
        }
    }
}

#endif
