// KeyParameters: the dictionaries from which keys are made, in types.
//   (1) Type and size come from the top level; everything else may stand in the dictionary of one
//       half as well, which wins.
//   (2) Numbers may be given as decimal text.
//   (3) Nothing that says how a new key is protected is passed over because it can't be read.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

internal import Foundation
package import KeychainAsymmetricKeys
package import KeychainCore

/// Ed25519, for signatures. Apple exports the constant without declaring it.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeEd25519: CFString = "105"

/// X25519, for key agreement. Apple exports the constant without declaring it.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeX25519: CFString = "106"

/// A key type that keys can be made of.
package struct KeyType: Sendable {
    package let kind: KeyKind

    package init(_ value: AttributeValue?) throws(KeychainFailure) {
        guard case .number(let number) = value else { throw .param("The key type is missing.") }
        switch number {
        case 42: kind = .rsa
        case 73: kind = .elliptic
        case 105: kind = .ed25519
        case 106: kind = .x25519
        case 107: throw .notBuilt("keys for Ed448")
        case 108: throw .notBuilt("keys for X448")
        case 109: throw .notBuilt("keys for Kyber")
        case 110: throw .notBuilt("keys for ML-KEM")
        case 111: throw .notBuilt("keys for ML-DSA")
        default: throw .param("There are no keys of this type.")
        }
    }
}

/// Which half of a pair a key is.
package enum KeyClass: Sendable {
    case publicKey
    case privateKey

    package init(_ value: AttributeValue?) throws(KeychainFailure) {
        switch value {
        case .number(0): self = .publicKey
        case .number(1): self = .privateKey
        case .number(2): throw .notBuilt("symmetric keys")
        default: throw .param("The key class is missing or unknown.")
        }
    }
}

extension SecKey.Material {
    /// A key from its external representation.
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
    /// What a failed operation with a key is to the callers of this module.
    package init(_ failure: KeyOperationFailure) {
        switch failure {
        case .parameter(let reason): self.init(.param, reason)
        case .unsupported(let reason): self.init(.unimplemented, reason)
        case .verification:
            self.init(
                Status(rawValue: errSecVerifyFailed),
                "The signature does not belong to these data and this key.")
        }
    }
}

/// Carries out an operation of the crypto module, with its failure in the terms of this one.
func withKeychainFailure<Result>(
    _ operation: () throws(KeyOperationFailure) -> Result
) throws(KeychainFailure) -> Result {
    do {
        return try operation()
    } catch {
        throw KeychainFailure(error)
    }
}

/// The entries of a dictionary under their names. What has no text for a name is left out.
struct KeyParameters {
    /// The entries as they were given.
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

    /// A number, also one given as text or as a boolean.
    func number(_ name: CFString) -> AttributeValue? {
        self[name].flatMap { AttributeValue($0, kind: .number) }
    }

    /// Whether an entry is true. nil: it is missing, or no boolean.
    func flag(_ name: CFString) -> Bool? {
        guard case .number(let number) = number(name) else { return nil }
        return number != 0
    }

    /// The parameters of one half: its own, with those of the top level that it leaves open.
    func merged(with half: CFString) -> KeyParameters {
        var merged = own(half).entries.merging(entries) { own, _ in own }
        // What the key itself says, and what makes it.
        for name in [
            kSecPrivateKeyAttrs, kSecPublicKeyAttrs, kSecAttrKeyType, kSecAttrKeySizeInBits,
            kSecAttrKeyClass, kSecAttrEffectiveKeySize,
        ] {
            merged[name as String] = nil
        }
        return KeyParameters(entries: merged)
    }

    /// The parameters that one half alone has.
    func own(_ half: CFString) -> KeyParameters {
        guard case .object(let object) = self[half], let dictionary = object as? NSDictionary
        else { return KeyParameters(entries: [:]) }
        return KeyParameters(dictionary)
    }

    /// - Throws: `param` where the dictionary of a half is no dictionary, or an access control is
    ///   something else: a key made without what they say would have less protection than was
    ///   asked for.
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

    /// The attributes of a key among the entries, as items hold them.
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
