// WireSecureEnclave: in messages, keys that hardware makes and keeps.

import KeychainModel

extension WireNewSecureEnclaveKey {
    init(_ key: NewSecureEnclaveKey) {
        self.init()
        protection = key.protection.wire
        constraints = key.constraints.rawValue
        if key.authorization != Authorization() {
            authorization = WireAuthorization(key.authorization)
        }
    }

    func key() throws(KeychainFailure) -> NewSecureEnclaveKey {
        NewSecureEnclaveKey(
            protection: try ProtectionClass(wire: protection),
            constraints: try AccessConstraints(requested: constraints),
            authorization: try authorization.authorization())
    }
}

extension WireSecureEnclaveKey {
    init(_ key: SecureEnclaveKey) {
        self.init()
        blob = key.blob
        publicKey = key.publicKey
    }

    var key: SecureEnclaveKey { SecureEnclaveKey(blob: blob, publicKey: publicKey) }
}
