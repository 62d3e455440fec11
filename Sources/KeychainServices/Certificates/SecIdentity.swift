// SecIdentity: a certificate together with its private key.
//   (1) The key is the one that the certificate is about: it is checked whenever one is made from
//       parts that were not found together.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainEngine
internal import KeychainCore

/// A certificate and the private key to its public key.
///
/// An identity is not stored as such. It is in a keychain when both halves are: the item of class
/// ``kSecClassKey`` whose application label is the public key hash of the item of class
/// ``kSecClassCertificate``. It corresponds to `SecIdentityRef`; equality is by content.
public final class SecIdentity: NSObject, Sendable {
    package let certificate: SecCertificate
    package let privateKey: SecKey

    /// Puts together what belongs together; see (1).
    package init(certificate: SecCertificate, privateKey: SecKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }

    /// Equality by content.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecIdentity else { return false }
        return certificate == other.certificate && privateKey == other.privateKey
    }

    /// A hash of the content.
    public override var hash: Int { certificate.hash }

    /// The subject of the certificate. Nothing of the key.
    public override var description: String {
        "<SecIdentity: \(certificate.subjectSummary ?? "no subject")>"
    }
}

extension SecIdentity: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.identity
}

extension SecCertificate {
    /// Whether a key is the private key to the certificate's public key.
    package func isAbout(_ key: SecKey) -> Bool {
        key.isPrivate && itemAttributes[.publicKeyHash] == .data(key.publicKeyHash)
    }
}

/// Makes an identity of a certificate and its private key. No keychain is looked at.
///
/// - Parameters:
///   - allocator: Ignored.
///   - certificate: The certificate.
///   - privateKey: The private key to the certificate's public key.
/// - Returns: The identity, or nil if the key is another one or not a private one.
///
/// It corresponds to the function of the same name.
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard certificate.isAbout(privateKey) else { return nil }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// Makes an identity of a certificate and the private key to it that the keychain holds. The
/// certificate need not be in the keychain.
///
/// - Parameters:
///   - keychainOrArray: Ignored: there is one keychain.
///   - certificateRef: The certificate.
///   - identityRef: Receives the identity. Untouched when the call fails.
/// - Returns: `errSecSuccess`, or `errSecItemNotFound` if the keychain has no such private key, or
///   what ``SecItemCopyMatching(_:_:)`` gives for the key.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate,
    _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    guard case .data(let hash) = certificateRef.itemAttributes[.publicKeyHash] else {
        return errSecItemNotFound
    }
    var result: CFTypeRef?
    let query: NSDictionary = [
        kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
        kSecAttrApplicationLabel: hash, kSecAttrSynchronizable: kSecAttrSynchronizableAny,
        kSecReturnRef: true,
    ]
    // SAFETY: the variable outlives the call.
    let status = unsafe SecItemCopyMatching(query, &result)
    guard status == errSecSuccess else { return status }
    guard let key = result as? SecKey, certificateRef.isAbout(key) else {
        return errSecItemNotFound
    }
    // SAFETY: the caller's pointer is valid for the call, as its type promises.
    unsafe identityRef.pointee = SecIdentity(certificate: certificateRef, privateKey: key)
    return errSecSuccess
}

/// Gives the certificate of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - certificateRef: Receives the certificate.
/// - Returns: `errSecSuccess`.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    // SAFETY: the caller's pointer is valid for the call, as its type promises.
    unsafe certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

/// Gives the private key of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - privateKeyRef: Receives the key.
/// - Returns: `errSecSuccess`.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    // SAFETY: the caller's pointer is valid for the call, as its type promises.
    unsafe privateKeyRef.pointee = identityRef.privateKey
    return errSecSuccess
}

/// Returns the identifier of identities, for comparison with ``CFGetTypeID(_:)``.
public func SecIdentityGetTypeID() -> CFTypeID {
    CoreFoundationType.identity.rawValue
}

#endif
