// RequestDictionary+SecureEnclave: a dictionary that describes a key to make in hardware.
//   (1) What the hardware can't make is refused before it is asked, and nothing is made in software
//       instead.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

extension RequestDictionary {
    /// Whether an addition of this dictionary makes a key: it names the hardware, and no key.
    func makesKey(of itemClass: ItemClass) -> Bool {
        itemClass == .key && attributes.nameSecureEnclave && data == nil && valueReference == nil
    }

    /// Makes the key that an item describes. It is not stored.
    ///
    /// - Parameters:
    ///   - item: The item, without data.
    ///   - keychain: The keychain, with the person in front of it.
    /// - Returns: The item of the key.
    /// - Throws: `unimplemented` where there is no hardware; or why the key can't be made.
    func makeKey(
        _ item: NewItem, in keychain: KeychainConnection
    ) throws(KeychainFailure) -> NewItem {
        var item = item
        let made = try SecureEnclavePrivateKey(
            protection: item.protection, constraints: item.constraints, in: keychain)
        item.attributes = SecKey(.secureEnclave(made), attributes: item.attributes).itemAttributes
        item.data = made.blob.encoded
        return item
    }

    /// - Throws: `param` for a key that isn't on P-256.
    static func checkIsOfHardware(_ item: NewItem) throws(KeychainFailure) {
        let type = try KeyType(item.attributes[.type])
        let size = item.attributes[.keySizeInBits]
        guard type.kind == .elliptic, size == nil || size == .number(256) else {
            throw .notOfSecureEnclave
        }
        guard item.attributes[.keyClass] ?? .number(1) == .number(1) else {
            throw .param("The Secure Enclave makes private keys.")
        }
        guard !item.isSynchronizable, !item.isTombstone else {
            throw .param("A key of the Secure Enclave stays on this device.")
        }
    }
}

extension KeychainFailure {
    /// The answer to a request for a key in hardware that isn't on P-256.
    static let notOfSecureEnclave = KeychainFailure.param(
        "The Secure Enclave has keys on P-256 alone: kSecAttrKeyTypeECSECPrimeRandom, 256 bits. Keys "
            + "of other types, such as Ed25519, are keys in software, without kSecAttrTokenID.")
}

#endif
