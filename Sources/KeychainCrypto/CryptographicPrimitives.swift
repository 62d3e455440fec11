// CryptographicPrimitives: the operations of the crypto library that the keychain is built on.
//   (1) `AuthenticatedEncryption` is the one place where something is sealed or opened; `PageKey`
//       authenticates pages, which are not secret.
//       AES-256-GCM, random 96-bit nonce, 128-bit tag: nonce ‖ ciphertext ‖ tag.
//   (2) Keys come from keys by HKDF-SHA-256, and from passcodes and passwords by scrypt.
//   (3) A `Fingerprint` identifies and does not protect.
//   (4) Random bytes here are in ordinary memory. The keychain's own keys come from `SecretBytes`.

import Crypto
package import FoundationEssentials
package import KeychainCore

// MARK: - Sealing

package enum AuthenticatedEncryption {
    package static let keyByteCount = 32
    package static let nonceByteCount = 12
    package static let tagByteCount = 16
    /// What sealing adds to a plaintext.
    package static let overheadByteCount = nonceByteCount + tagByteCount

    /// The bytes did not come from ``seal(_:using:authenticating:)`` with this key and
    /// these associated data.
    package struct Inauthentic: Error {}

    /// - Returns: nonce ‖ ciphertext ‖ tag.
    package static func seal(
        _ plaintext: some DataProtocol, using key: SecretBytes, authenticating data: [UInt8]
    ) -> Data {
        defer { MemoryScrubber.eraseContext() }
        let box = key.withSymmetricKey {
            try? AES.GCM.seal(
                plaintext, using: $0, nonce: .random(), authenticating: data)
        }
        guard let combined = box?.combined else {
            // Only a key of a wrong size gets here, and every key is made by this module.
            preconditionFailure("sealing failed")
        }
        return combined
    }

    package static func open(
        _ sealed: Data, using key: SecretBytes, authenticating data: [UInt8]
    ) throws(Inauthentic) -> Data {
        guard sealed.count >= overheadByteCount, key.count == keyByteCount else {
            throw Inauthentic()
        }
        defer { MemoryScrubber.eraseContext() }
        do {
            return try key.withSymmetricKey {
                try AES.GCM.open(
                    AES.GCM.SealedBox(combined: sealed), using: $0, authenticating: data)
            }
        } catch {
            throw Inauthentic()
        }
    }

    // MARK: Keys

    /// The size of a wrapped 256-bit key.
    package static let wrappedKeyByteCount = keyByteCount + overheadByteCount

    /// Seals a key under another one.
    package static func wrap(
        _ key: SecretBytes, using wrapping: SecretBytes, authenticating data: [UInt8]
    ) -> Data {
        key.sealed(using: wrapping, authenticating: data)
    }

    package static func unwrap(
        _ wrapped: Data, using wrapping: SecretBytes, authenticating data: [UInt8]
    ) throws(Inauthentic) -> SecretBytes {
        guard wrapped.count == wrappedKeyByteCount else { throw Inauthentic() }
        var plaintext = try open(wrapped, using: wrapping, authenticating: data)
        defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
        return SecretBytes(copying: plaintext)
    }
}

// MARK: - Deriving keys

package enum KeyDerivation {
    /// What a derived key is for. The raw value is HKDF's info.
    package enum Purpose: String {
        case deviceWrapping = "swift-keychain 1 device"
        case passcodeWrapping = "swift-keychain 1 device+passcode"
        case slotWrapping = "swift-keychain 1 slot"
        case keybagAuthentication = "swift-keychain 1 keybag"
        case pages = "swift-keychain 2 pages"
        case keybag = "swift-keychain 2 keybag"
        case wrapping = "swift-keychain 2 wrap"
        case slot = "swift-keychain 2 slot"
        case backup = "swift-keychain 1 backup"
    }

    /// HKDF-SHA-256 with the keychain's identifier as salt; for pages with that of the file. The
    /// byte follows the purpose in HKDF's info.
    /// - Returns: 32 bytes.
    package static func derive(
        _ purpose: Purpose, _ byte: UInt8? = nil, from key: SecretBytes, salt: [UInt8]
    ) -> SecretBytes {
        key.withSymmetricKey {
            SecretBytes(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: $0, salt: salt,
                    info: Array(purpose.rawValue.utf8) + (byte.map { [$0] } ?? []),
                    outputByteCount: 32))
        }
    }
}

/// The cost of deriving a key from a passcode or a password (RFC 7914).
package struct PasscodeCost: Hashable, Sendable {
    /// log2 of the CPU and memory cost N.
    package var logN: UInt8
    package var blockSize: UInt8
    package var parallelism: UInt8

    package init(logN: UInt8, blockSize: UInt8, parallelism: UInt8) {
        self.logN = logN
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// N = 2^17, r = 8, p = 1: 128 MiB of memory.
    package static let standard = PasscodeCost(logN: 17, blockSize: 8, parallelism: 1)

    /// OWASP's recommendation, which is paid with every secret that is opened.
    package static let applicationPassword = standard

    /// 128 · r · N.
    package var memoryByteCount: Int { 128 * Int(blockSize) << Int(logN) }

    /// Whether a reader takes the cost: at most 1 GiB of memory and p = 16, so that an altered
    /// file can't exhaust the machine.
    package var isAcceptable: Bool {
        (1...24).contains(logN) && (1...32).contains(blockSize) && (1...16).contains(parallelism)
            && memoryByteCount <= 1 << 30 && Int(logN) < 16 * Int(blockSize)
    }

    /// - Returns: 32 bytes.
    package func deriveKey(
        from passcode: SecretBytes, salt: [UInt8]
    ) throws(KeychainFailure) -> SecretBytes {
        guard isAcceptable else {
            throw KeychainFailure(
                .notAvailable, "A derivation of a key beyond the limits is asked for.")
        }
        do {
            return try passcode.scrypt(salt: salt, cost: self)
        } catch {
            throw KeychainFailure(
                .allocate, "Deriving a key from a passcode or password failed: too little memory.")
        }
    }
}

// MARK: - Fingerprints

package enum Fingerprint {
    /// SHA-1, for values that Apple's interface defines by it. 20 bytes.
    package static func sha1(of bytes: [UInt8]) -> [UInt8] {
        Array(Insecure.SHA1.hash(data: bytes))
    }

    /// SHA-256, 32 bytes.
    package static func sha256(of bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: bytes))
    }

    /// SHA-256 of a file from its present position to its end, 32 bytes.
    /// - Throws: ``ReadFailure``
    package static func sha256(ofFile descriptor: Int32) throws(ReadFailure) -> [UInt8] {
        var hash = SHA256()
        var isAtEnd = false
        while !isAtEnd {
            let part = try [UInt8](readingFrom: descriptor, atMost: 1 << 18)
            hash.update(data: part)
            isAtEnd = part.isEmpty
        }
        return Array(hash.finalize())
    }
}

/// SHA-256 of what comes in parts.
package struct RunningDigest {
    private var hash = SHA256()

    package init() {}

    package mutating func add(_ part: Data) { hash.update(data: part) }

    /// 32 bytes.
    package var result: [UInt8] { Array(hash.finalize()) }
}

// MARK: - Random bytes

extension [UInt8] {
    /// Fresh bytes of the system's generator.
    package static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }
}
