// KeyNotation: wrappers of Apple's key functions for table-driven tests, and keys of every kind.
//   (1) A call must return either a result or an error of the OSStatus domain. Anything else is
//       recorded as an issue of the calling test.
//   (2) RSA keys are from Wycheproof's files, because generating an RSA key takes a while. Keys of
//       the other kinds are generated.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// The error of a key function.
struct KeyRefusal: Error, Equatable, CustomStringConvertible {
    let code: Int
    let text: String

    var description: String { "\(code) \(text)" }
}

/// The error pointer that a call passes to a key function.
// SAFETY: `pointer` is the address of a variable in `answer` that outlives the call. Only the call
// uses the pointer.
@safe struct ErrorPlace {
    let pointer: UnsafeMutablePointer<Unmanaged<CFError>?>
}

/// Calls a function with an error pointer, and throws the error that the function stores there.
func answer<Result>(
    _ source: SourceLocation = #_sourceLocation, of call: (ErrorPlace) -> Result?
) throws(KeyRefusal) -> Result {
    var slot: Unmanaged<CFError>?
    // SAFETY: the variable outlives the call, and the caller owns the error that the call stores.
    let result = unsafe withUnsafeMutablePointer(to: &slot) {
        call(unsafe ErrorPlace(pointer: $0))
    }
    let error = unsafe slot?.takeRetainedValue()
    #expect(
        (result == nil) == (error != nil), "A call gives either a result or an error.",
        sourceLocation: source)
    if let error {
        #expect(error.domain == NSOSStatusErrorDomain, sourceLocation: source)
        #expect(!error.localizedDescription.isEmpty, sourceLocation: source)
    }
    guard let result else {
        throw KeyRefusal(code: error?.code ?? 0, text: error?.localizedDescription ?? "")
    }
    return result
}

/// A type of key. The raw value is Apple's constant.
enum KeyKind: String, CaseIterable, Sendable {
    case rsa = "42"
    case ellipticCurve = "73"
    case ed25519 = "105"
    case x25519 = "106"
}

/// The public or the private key of a pair. The raw value is Apple's constant.
enum KeyHalf: String, CaseIterable, Sendable {
    case publicKey = "0"
    case privateKey = "1"
}

/// Creates a key from its external representation.
func key(
    _ kind: KeyKind, _ half: KeyHalf, _ data: Data, _ more: [String: Any] = [:],
    _ source: SourceLocation = #_sourceLocation
) throws(KeyRefusal) -> SecKey {
    let attributes: [String: Any] = ["type": kind.rawValue, "kcls": half.rawValue]
    let all = attributes.merging(more) { $1 } as CFDictionary
    return try answer(source) { unsafe SecKeyCreateWithData(data as CFData, all, $0.pointer) }
}

/// Generates a key pair and returns the private key.
func newKey(
    _ attributes: [String: Any], _ source: SourceLocation = #_sourceLocation
) throws(KeyRefusal) -> SecKey {
    let all = attributes as CFDictionary
    return try answer(source) { unsafe SecKeyCreateRandomKey(all, $0.pointer) }
}

/// The algorithm with Apple's identifier `algid:` followed by `name`.
func algorithm(_ name: String) -> SecKeyAlgorithm {
    SecKeyAlgorithm(rawValue: "algid:\(name)" as CFString)
}

/// The end of a PSS identifier: the hash, the hash of the mask generation, and the salt size. Each
/// salt is as long as the digest. Only Apple's identifier for SHA-224 states another size: 24
/// instead of 28 bytes.
func saltedName(_ hash: String) -> String {
    let sizes = ["SHA1": 20, "SHA224": 24, "SHA256": 32, "SHA384": 48, "SHA512": 64]
    return "\(hash):\(hash):\(sizes[hash] ?? 0)"
}

extension SecKey {
    func external(_ source: SourceLocation = #_sourceLocation) throws(KeyRefusal) -> Data {
        try answer(source) { unsafe SecKeyCopyExternalRepresentation(self, $0.pointer) } as Data
    }

    func publicHalf(_ source: SourceLocation = #_sourceLocation) throws -> SecKey {
        try #require(SecKeyCopyPublicKey(self), sourceLocation: source)
    }

    /// Calls a function that takes bytes and returns bytes.
    private func output(
        of function: (
            SecKey, SecKeyAlgorithm, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?
        ) -> CFData?,
        _ name: String, _ input: Data, _ source: SourceLocation
    ) throws(KeyRefusal) -> Data {
        let algorithm = algorithm(name)
        return try answer(source) {
            unsafe function(self, algorithm, input as CFData, $0.pointer)
        } as Data
    }

    func signature(
        _ name: String, _ input: Data, _ source: SourceLocation = #_sourceLocation
    ) throws(KeyRefusal) -> Data {
        try unsafe output(of: SecKeyCreateSignature, name, input, source)
    }

    /// Verifies a signature.
    ///
    /// - Returns: `nil` if the signature is valid; otherwise, the error.
    func refusal(
        _ name: String, _ input: Data, _ signature: Data,
        _ source: SourceLocation = #_sourceLocation
    ) -> KeyRefusal? {
        let algorithm = algorithm(name)
        do throws(KeyRefusal) {
            _ = try answer(source) { (error) -> Bool? in
                unsafe SecKeyVerifySignature(
                    self, algorithm, input as CFData, signature as CFData, error.pointer)
                    ? true : nil
            }
            return nil
        } catch { return error }
    }

    func encrypted(
        _ name: String, _ input: Data, _ source: SourceLocation = #_sourceLocation
    ) throws(KeyRefusal) -> Data {
        try unsafe output(of: SecKeyCreateEncryptedData, name, input, source)
    }

    func decrypted(
        _ name: String, _ input: Data, _ source: SourceLocation = #_sourceLocation
    ) throws(KeyRefusal) -> Data {
        try unsafe output(of: SecKeyCreateDecryptedData, name, input, source)
    }

    func agreed(
        _ name: String, with other: SecKey, size: Int? = nil, info: Data? = nil,
        _ source: SourceLocation = #_sourceLocation
    ) throws(KeyRefusal) -> Data {
        let algorithm = algorithm(name)
        var parameters: [String: Any] = [:]
        if let size {
            parameters[SecKeyKeyExchangeParameter.requestedSize.rawValue as String] = size
        }
        if let info {
            parameters[SecKeyKeyExchangeParameter.sharedInfo.rawValue as String] = info
        }
        let dictionary = parameters as CFDictionary
        return try answer(source) {
            unsafe SecKeyCopyKeyExchangeResult(self, algorithm, other, dictionary, $0.pointer)
        } as Data
    }

    func supports(_ operation: SecKeyOperationType, _ name: String) -> Bool {
        SecKeyIsAlgorithmSupported(self, operation, algorithm(name))
    }
}

// MARK: - Known keys

/// A kind of key and a size in bits.
struct KnownKey: Hashable, Sendable, CustomTestStringConvertible {
    let kind: KeyKind
    let bits: Int

    var testDescription: String { "\(kind) \(bits)" }

    static let p256 = KnownKey(kind: .ellipticCurve, bits: 256)
    static let p384 = KnownKey(kind: .ellipticCurve, bits: 384)
    static let p521 = KnownKey(kind: .ellipticCurve, bits: 521)
    static let rsa1024 = KnownKey(kind: .rsa, bits: 1024)
    static let rsa2048 = KnownKey(kind: .rsa, bits: 2048)
    static let rsa3072 = KnownKey(kind: .rsa, bits: 3072)
    static let rsa4096 = KnownKey(kind: .rsa, bits: 4096)
    static let ed25519 = KnownKey(kind: .ed25519, bits: 256)
    static let x25519 = KnownKey(kind: .x25519, bits: 256)

    static let all = [
        p256, p384, p521, rsa1024, rsa2048, rsa3072, rsa4096, ed25519, x25519,
    ]

    func privateKey() throws -> SecKey {
        guard kind == .rsa else {
            return try newKey(["type": kind.rawValue, "bsiz": bits])
        }
        return try key(.rsa, .privateKey, #require(Self.rsaKeys.get()[bits]))
    }

    func publicKey() throws -> SecKey { try privateKey().publicHalf() }

    /// The first RSA key of each size in Wycheproof's file.
    private static let rsaKeys = Result {
        Dictionary(
            try WycheproofFile.read("rsa_oaep_misc", values: 3).tests.map { ($0.bits, $0.key) },
            uniquingKeysWith: { first, _ in first })
    }
}

#endif
