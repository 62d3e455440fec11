// AgreementInteroperationTests: key agreements with OpenSSL, and messages encrypted under keys that
// are derived from the shared secrets.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

private let hashes = ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"]

extension OpenSSLPair {
    /// OpenSSL's shared secret with the peer's public key.
    fileprivate func agreed(withFile other: String) throws -> Data {
        try openSSL.run(["pkeyutl", "-derive", "-inkey", privateFile, "-peerkey", other])
    }
}

extension OpenSSL {
    /// The key derivation of ANSI X9.63.
    fileprivate func derived(
        _ hash: String, _ secret: Data, _ info: Data, size: Int
    ) throws -> Data {
        let information = info.isEmpty ? [] : ["-kdfopt", "hexinfo:\(info.hex)"]
        return try run(
            [
                "kdf", "-keylen", "\(size)", "-kdfopt", "digest:\(hash)",
                "-kdfopt", "hexkey:\(secret.hex)",
            ] + information + ["-binary", "X963KDF"])
    }
}

extension Data {
    fileprivate var hex: String { map { String(format: "%02x", $0) }.joined() }
}

@Suite struct `Agreements and OpenSSL` {
    @Test(arguments: KeyForm.elliptic + [.x25519])
    func `this package and OpenSSL agree on the same secret`(_ form: KeyForm) throws {
        let openSSL = try OpenSSL()
        let theirs = try OpenSSLPair(form, in: openSSL, name: "theirs")
        let mine = try newKey(["type": form.kind.rawValue, "bsiz": form.bits])
        try openSSL.write(form, publicKey: mine.publicHalf(), to: "mine.pub")
        let secret = try theirs.agreed(withFile: "mine.pub")
        let other = try theirs.publicKey()
        for cofactor in form == .x25519 ? [""] : ["", "C"] {
            #expect(try mine.agreed("keyexchange:ECDH\(cofactor)", with: other) == secret)
        }
        for hash in hashes {
            for (size, info) in [
                (16, Data()), (32, Data("info".utf8)), (200, Data([0, 0xFF])), (1, Data([1])),
            ] {
                let derived = try openSSL.derived(hash, secret, info, size: size)
                let name = "keyexchange:ECDH:KDFX963:\(hash)"
                #expect(try mine.agreed(name, with: other, size: size, info: info) == derived)
                if form != .x25519 {
                    let twin = "keyexchange:ECDHC:KDFX963:\(hash)"
                    #expect(try mine.agreed(twin, with: other, size: size, info: info) == derived)
                }
            }
        }
    }

    /// The key and nonce of ECIES as SecKey.h describes them. OpenSSL derives the key from a shared
    /// secret, and the nonce too if `derivesVector` is true. Otherwise the nonce is all zero.
    private func eciesKey(
        _ hash: String, _ secret: Data, ephemeral: Data, _ form: KeyForm, derivesVector: Bool,
        _ openSSL: OpenSSL
    ) throws -> (key: SymmetricKey, vector: AES.GCM.Nonce) {
        let size = form == .p256 ? 16 : 32
        let derived = try openSSL.derived(
            hash, secret, ephemeral, size: size + (derivesVector ? 16 : 0))
        let vector = derivesVector ? Data(derived.suffix(16)) : Data(count: 16)
        return (SymmetricKey(data: derived.prefix(size)), try AES.GCM.Nonce(data: vector))
    }

    @Test(arguments: KeyForm.elliptic)
    func `a key derived by OpenSSL decrypts a message that this package encrypted`(_ form: KeyForm)
        throws
    {
        let openSSL = try OpenSSL()
        let pair = try OpenSSLPair(form, in: openSSL)
        let recipient = try pair.publicKey()
        var opened: Set<String> = []
        for (name, hash, derivesVector) in eciesVariants {
            for message in [Data(), Data("a message".utf8), Data(repeating: 7, count: 5000)] {
                let sealed = try recipient.encrypted(name, message)
                let pointSize = 1 + 2 * form.byteCount
                try #require(sealed.count == pointSize + message.count + 16)
                let ephemeral = Data(sealed.prefix(pointSize))
                try openSSL.write(
                    form, publicKey: key(form.kind, .publicKey, ephemeral), to: "ephemeral.pub")
                let (key, vector) = try eciesKey(
                    hash, pair.agreed(withFile: "ephemeral.pub"), ephemeral: ephemeral, form,
                    derivesVector: derivesVector, openSSL)
                let body = sealed.dropFirst(pointSize)
                let box = try AES.GCM.SealedBox(
                    nonce: vector, ciphertext: body.dropLast(16), tag: body.suffix(16))
                #expect(try AES.GCM.open(box, using: key) == message, "\(name)")
            }
            opened.insert(name)
        }
        #expect(opened.count == 18)
    }

    @Test(arguments: KeyForm.elliptic)
    func `this package decrypts a message encrypted under a key that OpenSSL derived`(
        _ form: KeyForm
    ) throws {
        let openSSL = try OpenSSL()
        let mine = try newKey(["type": form.kind.rawValue, "bsiz": form.bits])
        try openSSL.write(form, publicKey: mine.publicHalf(), to: "mine.pub")
        let ephemeral = try OpenSSLPair(form, in: openSSL, name: "ephemeral")
        let point = try ephemeral.publicBytes()
        let secret = try ephemeral.agreed(withFile: "mine.pub")
        let message = Data("a message".utf8)
        var opened: Set<String> = []
        for (name, hash, derivesVector) in eciesVariants {
            let (key, vector) = try eciesKey(
                hash, secret, ephemeral: point, form, derivesVector: derivesVector, openSSL)
            let box = try AES.GCM.seal(message, using: key, nonce: vector)
            let sealed = point + box.ciphertext + box.tag
            #expect(try mine.decrypted(name, sealed) == message, "\(name)")
            for position in [point.count, sealed.count - 1] {
                var changed = sealed
                changed[position] ^= 1
                let refusal = #expect(throws: KeyRefusal.self) {
                    try mine.decrypted(name, changed)
                }
                #expect(refusal?.code == -50, "\(name)")
            }
            opened.insert(name)
        }
        #expect(opened.count == 18)
    }
}

/// Algorithm identifiers, each with its hash and with whether the initialization vector is derived
/// together with the key. Otherwise the vector is all zero.
private let eciesVariants: [(name: String, hash: String, derivesVector: Bool)] =
    ["ECDH", "ECDHC"].flatMap { agreement in
        hashes.flatMap { hash in
            let name = "encrypt:ECIES:\(agreement):KDFX963:\(hash):AESGCM"
            let fixed = [(name, hash, false)]
            return hash == "SHA1" ? fixed : fixed + [("\(name)-KDFIV", hash, true)]
        }
    }

#endif
