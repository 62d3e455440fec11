// WorkflowTests: compiles and runs the workflow in README.md.

import Capture
import CryptoKit
import ExampleTesting
import Foundation
import Testing

func encryptCapture(_ photo: Data) throws -> Data {
    let keychain = KeychainService()
    let key = CryptoService.generateKey()
    try keychain.saveSymmetricKey(key, forKey: "rial.encryption.key")
    return try CryptoService.encrypt(photo, using: key)
}

func decryptCapture(_ encrypted: Data) throws -> Data {
    let keychain = KeychainService()
    guard let key = try keychain.loadSymmetricKey(forKey: "rial.encryption.key") else {
        throw CaptureError.encryptionKeyNotFound
    }
    return try CryptoService.decrypt(encrypted, using: key)
}

@Suite(.freshKeychain) struct `Workflow` {
    @Test func `the README shows the tested workflow`() throws {
        try expectSnippet(under: "The workflow", inReadmeOf: "Capture")
    }

    @Test func `the workflow decrypts what it encrypted before a restart`() throws {
        let photo = Data("photo".utf8)
        let encrypted = try encryptCapture(photo)
        #expect(encrypted.count == photo.count + 28)
        try testKeychain.restart()
        #expect(try decryptCapture(encrypted) == photo)
    }

    @Test func `without a stored key, the workflow can't decrypt`() throws {
        let encrypted = try encryptCapture(Data("photo".utf8))
        try KeychainService().delete(forKey: "rial.encryption.key")
        #expect(throws: CaptureError.encryptionKeyNotFound) { try decryptCapture(encrypted) }
    }
}
