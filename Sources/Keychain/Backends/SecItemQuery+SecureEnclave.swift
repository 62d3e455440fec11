// SecItemQuery+SecureEnclave: the dictionaries for keys of the Secure Enclave.
//   (1) A key goes by service and name, together in its application tag. They are its application
//       label too, which is the first part of a key's primary key: so there is one key of a name.

import Foundation
import KeychainServices

/// A key of the Secure Enclave by its name.
struct SecureEnclaveSelector: Hashable, Sendable {
    var service: String
    var accessGroup: String?
    var name: String

    /// Service and name, which both are without NUL.
    var tag: Data { Data(service.utf8) + [0] + Data(name.utf8) }
}

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
        _ accessibility: Keychain.Accessibility, _ condition: Keychain.UseCondition
    ) throws(BackendFailure) -> SecAccessControl {
        var flags: SecAccessControlCreateFlags = .privateKeyUsage
        switch condition {
        case .none: break
        case .userPresence: flags.insert(.userPresence)
        case .devicePasscode: flags.insert(.devicePasscode)
        case .biometryAny: flags.insert(.biometryAny)
        case .biometryCurrentSet: flags.insert(.biometryCurrentSet)
        default:
            throw BackendFailure(
                status: errSecParam, reason: "There is no such condition for the use of a key.")
        }
        let control = SecAccessControlCreateWithFlags(
            nil, accessible(accessibility), flags, nil)
        guard let control else {
            throw BackendFailure(status: errSecParam, reason: "There is no such accessibility.")
        }
        return control
    }
}
