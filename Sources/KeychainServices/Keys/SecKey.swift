// SecKey: an asymmetric key as Apple's functions pass it around.
//   (1) It never changes. Two keys are equal when their class, type and numbers are; attributes
//       don't count.
//   (2) No description holds anything of a private key.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
package import KeychainAsymmetricKeys
package import KeychainCore

/// A private or public key.
///
/// Make one with ``SecKeyCreateRandomKey(_:_:)`` or ``SecKeyCreateWithData(_:_:_:)``, or have it
/// from the keychain with `kSecReturnRef`. It may be used from many threads at once. It corresponds
/// to `SecKeyRef`; equality is by content.
public final class SecKey: NSObject, Sendable {
    /// The numbers, or where they are.
    package enum Material: Sendable {
        case privateKey(AsymmetricPrivateKey)
        case publicKey(AsymmetricPublicKey)
        /// A private key that never leaves its hardware.
        case secureEnclave(SecureEnclavePrivateKey)
    }

    package let material: Material

    /// What was said about the key beside its numbers: by the parameters that created it, or by
    /// the item it comes from. It wins over what the numbers say.
    package let givenAttributes: Attributes

    package init(_ material: Material, attributes: Attributes = [:]) {
        self.material = material
        self.givenAttributes = attributes
    }

    package var isPrivate: Bool {
        switch material {
        case .privateKey, .secureEnclave: true
        case .publicKey: false
        }
    }

    /// The key in hardware, if it is one.
    package var secureEnclaveKey: SecureEnclavePrivateKey? {
        if case .secureEnclave(let key) = material { key } else { nil }
    }

    /// The public half, or the key itself.
    package var publicKey: AsymmetricPublicKey {
        switch material {
        case .privateKey(let key): key.publicKey
        case .publicKey(let key): key
        case .secureEnclave(let key): key.publicKey
        }
    }

    package var shape: KeyShape { publicKey.shape }

    /// SHA-1 of the public key's external representation, 20 bytes. The same for both halves.
    package var publicKeyHash: Data { publicKey.sha1 }

    /// The external representation; nil for a key in hardware.
    package var externalData: Data? {
        switch material {
        case .privateKey(let key): key.externalRepresentation
        case .publicKey(let key): key.externalRepresentation
        case .secureEnclave: nil
        }
    }

    /// What an item holds as its data: the external representation, or what the keychain uses a key
    /// in hardware by.
    package var itemData: Data? { externalData ?? secureEnclaveKey?.blob.encoded }

    /// Equality by content. A private key has one public key, so that is compared.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return isPrivate == other.isPrivate && publicKey == other.publicKey
    }

    /// A hash of the content.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(isPrivate)
        hasher.combine(publicKey)
        return hasher.finalize()
    }

    /// Class, type and size.
    public override var description: String {
        let name =
            switch shape {
            case .rsa(let size): "RSA, \(size) bits"
            case .elliptic(let curve): "P-\(curve.sizeInBits)"
            case .ed25519: "Ed25519"
            case .x25519: "X25519"
            }
        let place = secureEnclaveKey == nil ? "" : ", in hardware"
        return "<SecKey: \(isPrivate ? "private" : "public") key, \(name)\(place)>"
    }
}

extension SecKey: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.key
}

/// Returns the identifier of keys, for comparison with ``CFGetTypeID(_:)``.
public func SecKeyGetTypeID() -> CFTypeID {
    CoreFoundationType.key.rawValue
}

#endif
