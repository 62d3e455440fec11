// SecItemQuery+SecureEnclave: the dictionaries for keys of the Secure Enclave.

import Foundation
import KeychainCore

#if canImport(Darwin)
import KeychainServicesDarwin
#else
import KeychainServices
#endif

extension SecItemQuery {
    /// The key of a name.
    static func secureEnclaveKey(_ key: SecureEnclaveSelector) -> Dictionary {
        var query: Dictionary = [
            kSecClass: kSecClassKey,
            kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecAttrApplicationLabel: key.tag,
            kSecAttrApplicationTag: key.tag,
            kSecUseDataProtectionKeychain: true,
        ]
        if let group = key.accessGroup { query[kSecAttrAccessGroup] = group }
        return query
    }

    /// A search for the key itself.
    static func secureEnclaveSearch(_ key: SecureEnclaveSelector) -> Dictionary {
        var query = secureEnclaveKey(key)
        query[kSecMatchLimit] = kSecMatchLimitOne
        query[kSecReturnRef] = true
        return query
    }

    /// The parameters of a new key, which is stored.
    static func newSecureEnclaveKey(
        _ key: SecureEnclaveSelector, _ control: SecAccessControl
    ) -> Dictionary {
        var own: Dictionary = [
            kSecAttrIsPermanent: true,
            kSecAttrApplicationLabel: key.tag,
            kSecAttrApplicationTag: key.tag,
            kSecAttrLabel: key.name,
            kSecAttrAccessControl: control,
            kSecUseDataProtectionKeychain: true,
        ]
        if let group = key.accessGroup { own[kSecAttrAccessGroup] = group }
        return [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
            kSecPrivateKeyAttrs: own,
        ]
    }

    /// The access control of a new key.
    ///
    /// - Throws: `param` where the two don't go together.
    static func control(
        _ accessibility: String, _ constraints: AccessConstraints
    ) throws(BackendFailure) -> SecAccessControl {
        // The bits of the model are Apple's.
        let flags = SecAccessControlCreateFlags(rawValue: CFOptionFlags(constraints.rawValue))
        let control = SecAccessControlCreateWithFlags(
            nil, accessibility as CFString, flags, nil)
        guard let control else {
            throw BackendFailure(status: errSecParam, reason: "There is no such accessibility.")
        }
        return control
    }
}
