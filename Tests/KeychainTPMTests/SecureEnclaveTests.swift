// Keys of the Secure Enclave, from SecKey down to a TPM. The simulator swtpm takes the place of the
// TPM.

#if TPM

import Crypto
import Foundation
import KeychainRuntime
import KeychainEngine
import KeychainCore
import KeychainServices
import Testing

@testable import KeychainTPM

@Suite struct `Keys of the Secure Enclave in a TPM` {
    private let chip: SimulatedChip
    private let folder: URL
    private let message = Data("message".utf8)

    init() throws {
        chip = try SimulatedChip()
        folder = URL(filePath: "/tmp/enclave-\(UUID().uuidString)")
    }

    /// Runs code with a new engine and a new connection to the chip, as in a separate process.
    private func inProcess<Result>(
        _ hardware: TrustedPlatformModule? = nil, _ body: () throws -> Result
    ) throws -> Result {
        var options = EngineOptions.testing
        options.hardware = hardware ?? chip.module()
        let engine = try KeychainEngine.open(directory: folder.path, options: options)
        defer { engine.close() }
        let connection = ProcessConnection(handler: .engine(engine), caller: AccessGroups(["g"]))
        return try KeychainContext.$connection.withValue(connection, operation: body)
    }

    private func make() -> SecKey? {
        let own: [CFString: Any] = [kSecAttrLabel: "label"]
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: own,
        ]
        return SecKeyCreateRandomKey(parameters as CFDictionary, nil)
    }

    private func find() -> SecKey? {
        let query: [CFString: Any] = [
            kSecClass: kSecClassKey, kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecAttrLabel: "label", kSecReturnRef: true,
        ]
        var result: CFTypeRef?
        // SAFETY: the variable outlives the call.
        _ = unsafe SecItemCopyMatching(query as CFDictionary, &result)
        return result as? SecKey
    }

    /// - Returns: The signature, or `nil` and the code of the error.
    private func sign(_ key: SecKey) -> (signature: Data?, code: Int?) {
        var slot: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call, and this function owns the error that is stored.
        let signature = unsafe SecKeyCreateSignature(
            key, .ecdsaSignatureMessageX962SHA256, message as CFData, &slot)
        return (signature as Data?, unsafe slot?.takeRetainedValue().code)
    }

    private func publicKey(_ key: SecKey) throws -> P256.Signing.PublicKey {
        let half = try #require(SecKeyCopyPublicKey(key))
        let data = SecKeyCopyExternalRepresentation(half, nil)
        return try P256.Signing.PublicKey(x963Representation: try #require(data as Data?))
    }

    @Test func `a key created by one process signs in another process after the chip restarted`()
        throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let made = try inProcess { try publicKey(try #require(make())) }
        chip.kill()
        try chip.start()
        try inProcess {
            let found = try #require(find())
            #expect(try publicKey(found).rawRepresentation == made.rawRepresentation)
            let signature = try P256.Signing.ECDSASignature(
                derRepresentation: try #require(sign(found).signature))
            #expect(made.isValidSignature(signature, for: message))
            #expect(!made.isValidSignature(signature, for: Data()))
            #expect(SecKeyCopyExternalRepresentation(found, nil) == nil)
        }
    }

    @Test func `a key in the TPM agrees on a secret with a software key and decrypts data`() throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        try inProcess {
            let key = try #require(make())
            let half = try #require(SecKeyCopyPublicKey(key))
            let other = P256.KeyAgreement.PrivateKey()
            let attributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
                kSecAttrKeyClass: kSecAttrKeyClassPublic,
            ]
            let data = other.publicKey.x963Representation as CFData
            let peer = SecKeyCreateWithData(data, attributes as CFDictionary, nil)
            let none: [CFString: Any] = [:]
            let secret = SecKeyCopyKeyExchangeResult(
                key, .ecdhKeyExchangeStandard, try #require(peer), none as CFDictionary, nil)
            let own = try P256.KeyAgreement.PublicKey(
                x963Representation: publicKey(key).x963Representation)
            let expected = try other.sharedSecretFromKeyAgreement(with: own)
            let bytes = unsafe expected.withUnsafeBytes { unsafe Data($0) }
            #expect(secret as Data? == bytes)

            let algorithm = SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM
            let sealed = SecKeyCreateEncryptedData(half, algorithm, message as CFData, nil)
            let opened = SecKeyCreateDecryptedData(
                key, algorithm, try #require(sealed), nil)
            #expect(opened as Data? == message)
        }
    }

    @Test func `a key can't be used with another chip or without one`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try inProcess { _ = try #require(make()) }
        let other = try SimulatedChip()
        try inProcess(other.module()) {
            let answer = sign(try #require(find()))
            #expect(answer.signature == nil && answer.code == Int(errSecDecode))
        }
        chip.kill()
        try inProcess(chip.module(patience: .zero)) {
            let answer = sign(try #require(find()))
            #expect(answer.signature == nil && answer.code != nil)
        }
    }
}

#endif
