// SecIdentity: a certificate together with its private key.
//   (1) Whether the private key matches the certificate is checked whenever an identity is created,
//       even if a search found both together. A search compares only attributes, and a program can
//       store a key with any application label and a certificate with any public key hash.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainEngine
internal import KeychainCore

/// A certificate and the private key that matches its public key.
///
/// An identity is not stored as an item. A keychain contains an identity if it contains both of its
/// halves: an item of class ``kSecClassCertificate``, and an item of class ``kSecClassKey`` that is
/// marked as private and whose application label equals the certificate's public key hash. This
/// class corresponds to `SecIdentityRef`; equality is by content.
public final class SecIdentity: NSObject, Sendable {
    package let certificate: SecCertificate
    package let privateKey: SecKey

    /// Creates an identity. The caller has checked that the key matches the certificate.
    package init(certificate: SecCertificate, privateKey: SecKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }

    /// Whether the other object is an identity with an equal certificate and key.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecIdentity else { return false }
        return certificate == other.certificate && privateKey == other.privateKey
    }

    /// The hash of the certificate: equal identities have equal certificates.
    public override var hash: Int { certificate.hash }

    /// The subject of the certificate. Nothing about the key is included.
    public override var description: String {
        "<SecIdentity: \(certificate.subjectSummary ?? "no subject")>"
    }
}

extension SecIdentity: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.identity
}

extension SecCertificate {
    /// Whether `key` is the private key that matches the certificate's public key. Only public keys
    /// are compared; the private key is not used.
    package func isAbout(_ key: SecKey) -> Bool {
        key.isPrivate && structure.publicKeyBits == key.publicKey.externalRepresentation
    }
}

/// Creates an identity from a certificate and its private key. The keychain is not accessed.
///
/// - Parameters:
///   - allocator: Ignored.
///   - certificate: The certificate.
///   - privateKey: The private key that matches the certificate's public key.
/// - Returns: The identity, or `nil` if the key doesn't match or isn't a private key.
///
/// It corresponds to Apple's function of the same name.
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard certificate.isAbout(privateKey) else { return nil }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// Creates an identity from a certificate and the matching private key in the keychain. The
/// certificate need not be in the keychain.
///
/// - Parameters:
///   - keychainOrArray: Ignored, because there is only one keychain.
///   - certificateRef: The certificate.
///   - identityRef: Receives the identity. Unchanged after a failure.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` if the keychain has no matching private key; or
///   another status with which ``SecItemCopyMatching(_:_:)`` failed to find the key.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate,
    _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    guard case .data(let hash) = certificateRef.itemAttributes[.publicKeyHash] else {
        return errSecItemNotFound
    }
    // Almost always, the first key with this hash as its application label matches. If it doesn't,
    // because a program gave the label to another key too, all keys with the label are read.
    // Reading them fails if one of them is locked, and may prompt the user for each.
    for limit in [kSecMatchLimitOne, kSecMatchLimitAll] {
        var result: CFTypeRef?
        let query: NSDictionary = [
            kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            kSecAttrApplicationLabel: hash, kSecAttrSynchronizable: kSecAttrSynchronizableAny,
            kSecMatchLimit: limit, kSecReturnRef: true,
        ]
        // SAFETY: the variable outlives the call.
        let status = unsafe SecItemCopyMatching(query, &result)
        guard status == errSecSuccess else { return status }
        let found = result as? [SecKey] ?? (result as? SecKey).map { [$0] } ?? []
        guard let key = found.first(where: { certificateRef.isAbout($0) }) else { continue }
        // SAFETY: the caller must pass a pointer that is valid during the call, as `&variable` is.
        unsafe identityRef.pointee = SecIdentity(certificate: certificateRef, privateKey: key)
        return errSecSuccess
    }
    return errSecItemNotFound
}

/// Returns the certificate of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - certificateRef: Receives the certificate.
/// - Returns: `errSecSuccess`.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    // SAFETY: the caller must pass a pointer that is valid during the call, as `&variable` is.
    unsafe certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

/// Returns the private key of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - privateKeyRef: Receives the key.
/// - Returns: `errSecSuccess`.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    // SAFETY: the caller must pass a pointer that is valid during the call, as `&variable` is.
    unsafe privateKeyRef.pointee = identityRef.privateKey
    return errSecSuccess
}

/// Returns the type identifier of identities, for comparison with ``CFGetTypeID(_:)``.
public func SecIdentityGetTypeID() -> CFTypeID {
    CoreFoundationType.identity.rawValue
}

#endif
