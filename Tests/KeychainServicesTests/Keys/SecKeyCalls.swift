// SecKeyCalls: wrappers of Apple's key functions for tests, and sample keys.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// The outcome of a function: a result, or the code of an error.
enum KeyAnswer<Value> {
    case value(Value)
    case error(OSStatus)

    var value: Value? { if case .value(let value) = self { value } else { nil } }
    var code: OSStatus? { if case .error(let code) = self { code } else { nil } }
}

enum SecKeyCalls {
    /// Calls a function with an error pointer. The function must follow rule (1) in KeyNotation.
    static func answer<Value>(
        _ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Value?,
        _ location: SourceLocation = #_sourceLocation
    ) -> KeyAnswer<Value> {
        do throws(KeyRefusal) {
            return .value(
                try KeychainServicesTests.answer(location) { unsafe call($0.pointer) })
        } catch {
            return .error(OSStatus(error.code))
        }
    }

    /// Calls a function that takes bytes and returns bytes.
    private static func output(
        of function: (
            SecKey, SecKeyAlgorithm, CFData, UnsafeMutablePointer<Unmanaged<CFError>?>?
        ) -> CFData?,
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data
    ) -> KeyAnswer<Data> {
        unsafe answer {
            unsafe function(key, algorithm, data as CFData, $0).map { $0 as Data }
        }
    }

    static func create(_ parameters: [String: Any]) -> KeyAnswer<SecKey> {
        unsafe answer { unsafe SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
    }

    static func read(_ data: Data, _ attributes: [String: Any]) -> KeyAnswer<SecKey> {
        unsafe answer {
            unsafe SecKeyCreateWithData(data as CFData, attributes as CFDictionary, $0)
        }
    }

    static func external(_ key: SecKey) -> KeyAnswer<Data> {
        unsafe answer {
            unsafe SecKeyCopyExternalRepresentation(key, $0).map { $0 as Data }
        }
    }

    static func sign(
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data
    ) -> KeyAnswer<Data> {
        unsafe output(of: SecKeyCreateSignature, key, algorithm, data)
    }

    /// - Returns: `nil` for a valid signature, or the code of the error.
    static func refusal(
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data, _ signature: Data
    ) -> OSStatus? {
        unsafe answer {
            unsafe SecKeyVerifySignature(
                key, algorithm, data as CFData, signature as CFData, $0) ? true : nil
        }.code
    }

    static func encrypt(
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data
    ) -> KeyAnswer<Data> {
        unsafe output(of: SecKeyCreateEncryptedData, key, algorithm, data)
    }

    static func decrypt(
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data
    ) -> KeyAnswer<Data> {
        unsafe output(of: SecKeyCreateDecryptedData, key, algorithm, data)
    }

    static func exchange(
        _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ peer: SecKey,
        _ parameters: [String: Any] = [:]
    ) -> KeyAnswer<Data> {
        unsafe answer {
            unsafe SecKeyCopyKeyExchangeResult(
                key, algorithm, peer, parameters as CFDictionary, $0
            ).map { $0 as Data }
        }
    }

    static func attributes(_ key: SecKey) -> [String: Any] {
        SecKeyCopyAttributes(key) as? [String: Any] ?? [:]
    }
}

/// A key pair that is generated once for all tests of a run.
struct SampleKey: CustomTestStringConvertible {
    let name: String
    let privateKey: SecKey
    let publicKey: SecKey

    var testDescription: String { name }

    init(_ name: String, type: String, size: Int) {
        self.name = name
        let parameters: [String: Any] = ["type": type, "bsiz": size]
        guard let key = SecKeyCalls.create(parameters).value,
            let half = SecKeyCopyPublicKey(key)
        else { preconditionFailure("no key of type \(type) with \(size) bits") }
        privateKey = key
        publicKey = half
    }

    static let rsa1024 = SampleKey("RSA 1024", type: "42", size: 1024)
    static let rsa2048 = SampleKey("RSA 2048", type: "42", size: 2048)
    static let p256 = SampleKey("P-256", type: "73", size: 256)
    static let p384 = SampleKey("P-384", type: "73", size: 384)
    static let p521 = SampleKey("P-521", type: "73", size: 521)
    static let ed25519 = SampleKey("Ed25519", type: "105", size: 256)
    static let x25519 = SampleKey("X25519", type: "106", size: 256)

    static let all = [rsa1024, rsa2048, p256, p384, p521, ed25519, x25519]
}

#endif
