// DeviceKey: a signing key that can't leave the machine. The article "Sign with a key in hardware"
// explains this file.

import CryptoKit
import Foundation
import Keychain

extension KeychainKey where Value == Data {
    /// The data representation of the machine's key.
    static var deviceKey: Self { Self("device.key") }
}

/// The key with which this machine signs.
struct DeviceKey {
    var keychain = Keychain(service: "com.example.signer")

    typealias Key = SecureEnclave.P256.Signing.PrivateKey

    /// The machine's key, which is generated at the first use.
    func load() throws -> Key {
        let data = try keychain.load(
            .deviceKey, orAdd: { try Key().dataRepresentation })
        return try Key(dataRepresentation: data)
    }
}
