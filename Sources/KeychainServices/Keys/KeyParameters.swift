// KeyParameters: typed access to the dictionaries of parameters from which keys are created, the
// types and classes of keys, and the conversion of the key module's failures.
//   (1) Type and size are read from the top level. Everything else may also be in the dictionary of
//       the private or the public key, which takes precedence.
//   (2) Numbers may be passed as decimal strings.
//   (3) A malformed parameter is an error, and not ignored, if it determines the protection of a
//       new key.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

internal import Foundation
package import KeychainAsymmetricKeys
package import KeychainCore

/// Ed25519, for signatures. Apple exports the constant without declaring it.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeEd25519: CFString = "105"

/// X25519, for key agreement. Apple exports the constant without declaring it.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeX25519: CFString = "106"

/// A key type for which keys can be created.
package struct KeyType: Sendable {
    package let kind: KeyKind

    package init(_ value: AttributeValue?) throws(KeychainFailure) {
        guard case .number(let number) = value else { throw .param("The key type is missing.") }
        switch number {
        case 42: kind = .rsa
        case 73: kind = .elliptic
        case 105: kind = .ed25519
        case 106: kind = .x25519
        case 107: throw .notImplemented("keys for Ed448")
        case 108: throw .notImplemented("keys for X448")
        case 109: throw .notImplemented("keys for Kyber")
        case 110: throw .notImplemented("keys for ML-KEM")
        case 111: throw .notImplemented("keys for ML-DSA")
        default: throw .param("The key type is unknown.")
        }
    }
}

/// One half of a key pair.
package enum KeyClass: Sendable {
    case publicKey
    case privateKey

    package init(_ value: AttributeValue?) throws(KeychainFailure) {
        switch value {
        case .number(0): self = .publicKey
        case .number(1): self = .privateKey
        case .number(2): throw .notImplemented("symmetric keys")
        default: throw .param("The key class is missing or unknown.")
        }
    }
}

extension SecKey.Material {
    /// Reads a key in its external representation.
    package init(
        _ data: Data, type: KeyType, class keyClass: KeyClass
    ) throws(KeychainFailure) {
        do {
            switch keyClass {
            case .publicKey:
                self = .publicKey(
                    try AsymmetricPublicKey(externalRepresentation: data, kind: type.kind))
            case .privateKey:
                self = .privateKey(
                    try AsymmetricPrivateKey(externalRepresentation: data, kind: type.kind))
            }
        } catch {
            throw KeychainFailure(error)
        }
    }
}

extension KeychainFailure {
    /// Converts the failure of a key operation.
    package init(_ failure: KeyOperationFailure) {
        switch failure {
        case .parameter(let reason): self.init(.param, reason)
        case .unsupported(let reason): self.init(.unimplemented, reason)
        case .generation: self.init(.internalError, "The key could not be generated.")
        case .verification:
            self.init(
                Status(rawValue: errSecVerifyFailed),
                "The signature doesn't match the data and the key.")
        }
    }
}

/// Runs an operation of the key module and converts its failure.
func withKeychainFailure<Result>(
    _ operation: () throws(KeyOperationFailure) -> Result
) throws(KeychainFailure) -> Result {
    do {
        return try operation()
    } catch {
        throw KeychainFailure(error)
    }
}

/// The entries of a dictionary by name. Entries whose key is neither a string nor a
/// ``SecKeyKeyExchangeParameter`` are omitted.
struct KeyParameters {
    /// The entries, not converted.
    private(set) var entries: [String: Any] = [:]

    init(_ dictionary: NSDictionary) {
        for (key, value) in dictionary {
            switch key {
            case let name as String: entries[name] = value
            case let parameter as SecKeyKeyExchangeParameter:
                entries[parameter.rawValue as String] = value
            default: break
            }
        }
    }

    private init(entries: [String: Any]) {
        self.entries = entries
    }

    subscript(_ name: CFString) -> DictionaryValue? {
        entries[name as String].map { DictionaryValue($0) }
    }

    /// A number, which may be passed as a decimal string or a boolean. Other text is returned as a
    /// string.
    func number(_ name: CFString) -> AttributeValue? {
        self[name].flatMap { AttributeValue($0, kind: .number) }
    }

    /// The value of a boolean entry, or `nil` if it is missing or neither a boolean nor a number. A
    /// number, which may be passed as a decimal string, counts as true unless it is 0.
    func flag(_ name: CFString) -> Bool? {
        guard case .number(let number) = number(name) else { return nil }
        return number != 0
    }

    /// The parameters of one half: its own, completed by those of the top level.
    func merged(with half: CFString) -> KeyParameters {
        var merged = own(half).entries.merging(entries) { own, _ in own }
        // Remove the parameters that the key itself determines, and the dictionaries of the two
        // halves.
        for name in [
            kSecPrivateKeyAttrs, kSecPublicKeyAttrs, kSecAttrKeyType, kSecAttrKeySizeInBits,
            kSecAttrKeyClass, kSecAttrEffectiveKeySize,
        ] {
            merged[name as String] = nil
        }
        return KeyParameters(entries: merged)
    }

    /// The parameters in the dictionary of one half.
    func own(_ half: CFString) -> KeyParameters {
        guard case .object(let object) = self[half], let dictionary = object as? NSDictionary
        else { return KeyParameters(entries: [:]) }
        return KeyParameters(dictionary)
    }

    /// Checks the parameters that determine a key's protection. If they were ignored, the key would
    /// have less protection than was requested.
    ///
    /// - Throws: `param` if `kSecPrivateKeyAttrs` or `kSecPublicKeyAttrs` is not a dictionary, or
    ///   an access control is not a ``SecAccessControl``.
    func checkReadable() throws(KeychainFailure) {
        for half in [kSecPrivateKeyAttrs, kSecPublicKeyAttrs] {
            switch self[half] {
            case nil: break
            case .object(let object) where object is NSDictionary: break
            default: throw .param("The attributes of one of the keys are not a dictionary.")
            }
        }
        for parameters in [self, own(kSecPrivateKeyAttrs), own(kSecPublicKeyAttrs)] {
            switch parameters[kSecAttrAccessControl] {
            case nil: break
            case .object(let object) where object is SecAccessControl: break
            default: throw .param("The access control is not a SecAccessControl.")
            }
        }
    }

    mutating func set(_ name: CFString, _ value: Any?) {
        entries[name as String] = value
    }

    /// The key attributes among the entries, converted as items store them. Entries with a value
    /// that can't be converted are omitted.
    var attributes: Attributes {
        var attributes: Attributes = [:]
        for (name, value) in entries {
            guard let attribute = Attribute(name: name), ItemClass.key.has(attribute),
                let converted = AttributeValue(DictionaryValue(value), kind: attribute.kind)
            else { continue }
            attributes[attribute] = converted
        }
        return attributes
    }
}

#endif
