// DeviceKeyTests: the machine's key with simulated hardware. The article "Sign with a key in
// hardware" explains this file.

import CryptoKit
import Foundation
import Keychain
import KeychainTesting
import Testing

@testable import signer

@Suite struct DeviceKeyTests {
    @Test func `the same key signs after a restart`() throws {
        let test = TestKeychain()
        test.hasSecureEnclave = true
        let device = DeviceKey(
            keychain: Keychain(service: "test", in: test.database))
        let document = Data("the document".utf8)
        try test.withSecItem {
            let publicKey = try device.load().publicKey
            try test.restart()
            let signature = try device.load().signature(for: document)
            let isValid = publicKey.isValidSignature(
                signature, for: document)
            #expect(isValid)
        }
    }
}
