// MemoryTests: HMAC with a fixed key, secret memory, and the environment variables of a process.

import Foundation
import KeychainCore
import Testing

@testable import KeychainCrypto

/// A test case from RFC 4231, section 4, whose key is no longer than a block.
private struct Case: CustomTestStringConvertible, Sendable {
    let number: Int
    let key: [UInt8]
    let data: [UInt8]
    let code: String

    var testDescription: String { "case \(number)" }
}

private let cases = [
    Case(
        number: 1, key: Array(repeating: 0x0B, count: 20), data: Array("Hi There".utf8),
        code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    Case(
        number: 2, key: Array("Jefe".utf8), data: Array("what do ya want for nothing?".utf8),
        code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    Case(
        number: 3, key: Array(repeating: 0xAA, count: 20),
        data: Array(repeating: 0xDD, count: 50),
        code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    Case(
        number: 4, key: Array(1...25), data: Array(repeating: 0xCD, count: 50),
        code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
]

@Suite struct KeyedHashTests {
    @Test(arguments: cases)
    fileprivate func `authentication codes match RFC 4231 each time the key is used`(row: Case) {
        let authenticator = StoreAuthenticator(key: SecretBytes(copying: row.key))
        for _ in 0..<2 {
            let code = authenticator.tag(of: row.data)
            let text = code.map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
            #expect(text == row.code)
            #expect(authenticator.isValid(code, for: row.data))
            #expect(!authenticator.isValid(code, for: row.data + [0]))
            #expect(!authenticator.isValid(Array(code.dropLast()), for: row.data))
        }
    }
}

@Suite struct `Secret memory` {
    /// Sizes around the block sizes of the arena for secrets, and around the size of a page.
    @Test(arguments: [0, 1, 63, 64, 65, 255, 256, 257, 4096, 4097])
    func `each secret has its own memory, which is zeroed when the secret is released`(
        byteCount: Int
    ) {
        for _ in 0..<3 {
            let secrets = (0..<300).map { number in
                SecretBytes(
                    copying: [UInt8](repeating: UInt8(number % 255 + 1), count: byteCount))
            }
            for (number, secret) in secrets.enumerated() {
                #expect(secret.count == byteCount)
                #expect(secret.plainBytes.allSatisfy { $0 == UInt8(number % 255 + 1) })
            }
        }
        // All these secrets are kept, so each gets a different one of the blocks that the secrets
        // above released. Secrets of more than 256 bytes get new mappings instead, which are always
        // zero.
        let secrets = (0..<300).map { _ in
            // SAFETY: the bytes are only read.
            unsafe SecretBytes(byteCount: byteCount) { bytes in
                #expect(unsafe bytes.allSatisfy { $0 == 0 })
            }
        }
        #expect(secrets.count == 300)
    }

    @Test func `appending secrets concatenates their bytes in order`() {
        let parts = [0, 3, 64, 0, 200].map { count in (0..<count).map { UInt8($0) } }
        let whole = parts.reduce(SecretBytes(copying: [])) {
            $0.appending(SecretBytes(copying: $1))
        }
        #expect(whole.plainBytes == parts.flatMap { $0 })
    }
}

@Suite struct `Environment variables` {
    @Test
    func `a variable is split at its first equals sign; a value that isn't UTF-8 becomes U+FFFD`()
        throws
    {
        func variable(_ bytes: [UInt8]) -> (name: String, value: String)? {
            // SAFETY: the array ends with zero, and lives for the call.
            unsafe ProcessEnvironment.variable(bytes.map { CChar(bitPattern: $0) } + [0])
        }
        let whole = try #require(variable(Array("HOME=/home/ada=b".utf8)))
        #expect(whole == ("HOME", "/home/ada=b"))
        let broken = try #require(variable(Array("KEYCHAIN_DIRECTORY=/a".utf8) + [0xFF]))
        #expect(broken == ("KEYCHAIN_DIRECTORY", "\u{FFFD}"))
        #expect(variable(Array("EMPTY=".utf8))?.value == "")
        #expect(variable([0xFF] + Array("=a".utf8)) == nil)
        #expect(variable(Array("no equals sign".utf8)) == nil)
    }

    @Test func `ProcessEnvironment reads the same variables as Foundation`() {
        #expect(ProcessEnvironment.variables == ProcessInfo.processInfo.environment)
    }

    @Test
    func `the home folder is an absolute path from HOME, or else from the user database`() {
        #expect(ProcessEnvironment.home(["HOME": "/home/ada"]) == "/home/ada")
        // SAFETY: the text is copied at once. A call on another thread could only write the same
        // text to the same place, because this process looks up no other user.
        let entry = unsafe getpwuid(geteuid())
        let home = unsafe entry.map { unsafe String(cString: $0.pointee.pw_dir) }
        let absoluteHome = home.flatMap { $0.hasPrefix("/") ? $0 : nil }
        for variables in [[:], ["HOME": "relative"], ["HOME": ""]] {
            #expect(ProcessEnvironment.home(variables) == absoluteHome)
        }
    }
}
