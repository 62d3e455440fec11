// SecKeyHandle: the functions on keys, as this module calls them. The same on every platform.
//   (1) A status leaves as a number, unchanged.

import Foundation
import KeychainCore

#if canImport(Darwin)
import KeychainServicesDarwin
#else
import KeychainServices
#endif

/// A key of the Secure Enclave with the functions on it.
struct SecKeyHandle: SecureEnclaveHandle {
    let key: SecKey
    /// 04 ‖ X ‖ Y.
    let publicKey: Data

    private init(_ key: SecKey) throws(BackendFailure) {
        self.key = key
        guard let half = SecKeyCopyPublicKey(key) else { throw Self.unexpectedResult }
        // SAFETY: the place for the error is used during the call only.
        publicKey =
            try unsafe Self.answer { unsafe SecKeyCopyExternalRepresentation(half, $0) } as Data
    }

    /// Makes a key and stores it.
    init(
        new selector: SecureEnclaveSelector, _ accessibility: String,
        _ constraints: AccessConstraints
    ) throws(BackendFailure) {
        let control = try SecItemQuery.control(accessibility, constraints)
        let parameters = SecItemQuery.newSecureEnclaveKey(selector, control) as CFDictionary
        // SAFETY: as above.
        try self.init(try unsafe Self.answer { unsafe SecKeyCreateRandomKey(parameters, $0) })
    }

    /// - Returns: nil if there is no such key.
    static func find(_ selector: SecureEnclaveSelector) throws(BackendFailure) -> SecKeyHandle? {
        let query = SecItemQuery.secureEnclaveSearch(selector) as CFDictionary
        var object: CFTypeRef?
        // SAFETY: the pointer is used during the call only, and what is written through it is owned
        // by the variable.
        let status = unsafe SecItemCopyMatching(query, &object)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw BackendFailure(status: status) }
        guard let object, CFGetTypeID(object) == SecKeyGetTypeID(), let key = secKey(object) else {
            throw unexpectedResult
        }
        return try SecKeyHandle(key)
    }

    /// - Returns: Whether there was such a key.
    static func delete(_ selector: SecureEnclaveSelector) throws(BackendFailure) -> Bool {
        let query = SecItemQuery.secureEnclaveKey(selector) as CFDictionary
        let status = SecItemDelete(query)
        if status == errSecItemNotFound { return false }
        guard status == errSecSuccess else { throw BackendFailure(status: status) }
        return true
    }

    // MARK: Using

    /// Signs a message, hashed with SHA-256, or a digest of any size: the DER of r and s.
    func sign(_ input: Data, isDigest: Bool) throws(BackendFailure) -> Data {
        let algorithm: SecKeyAlgorithm =
            isDigest ? .ecdsaSignatureDigestX962 : .ecdsaSignatureMessageX962SHA256
        // SAFETY: as above.
        return try unsafe Self.answer {
            unsafe SecKeyCreateSignature(key, algorithm, input as CFData, $0)
        } as Data
    }

    /// The x coordinate of the product with a public key, 32 bytes.
    func agree(with publicKey: Data) throws(BackendFailure) -> Data {
        let attributes: SecItemQuery.Dictionary = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass: kSecAttrKeyClassPublic,
        ]
        // SAFETY: as above, for both calls.
        let peer = try unsafe Self.answer {
            unsafe SecKeyCreateWithData(publicKey as CFData, attributes as CFDictionary, $0)
        }
        let none: SecItemQuery.Dictionary = [:]
        return try unsafe Self.answer {
            unsafe SecKeyCopyKeyExchangeResult(
                key, .ecdhKeyExchangeStandard, peer, none as CFDictionary, $0)
        } as Data
    }

    // MARK: Answers

    /// The answer of a function that has a place for an error.
    private static func answer<Value>(
        _ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Value?
    ) throws(BackendFailure) -> Value {
        var slot: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call; an error in it is the caller's.
        if let value = unsafe call(&slot) { return value }
        guard let error = unsafe slot?.takeRetainedValue() else { throw unexpectedResult }
        throw BackendFailure(error)
    }

    #if canImport(Darwin)
    private static func secKey(_ object: CFTypeRef) -> SecKey? {
        // SAFETY: the caller looked at the type. Swift has no cast to a Core Foundation type that
        // can fail.
        unsafe unsafeDowncast(object, to: SecKey.self)
    }
    #else
    private static func secKey(_ object: CFTypeRef) -> SecKey? { object as? SecKey }
    #endif

    private static let unexpectedResult = BackendFailure(
        status: errSecInternalComponent, reason: "The keychain gave a result of an unknown form.")
}

extension BackendFailure {
    /// What a function on keys failed with. On Apple platforms other frameworks' errors come through
    /// it, such as that a person declined.
    fileprivate init(_ error: CFError) {
        let error = error as (any Error) as NSError
        guard error.domain == NSOSStatusErrorDomain else {
            self.init(
                status: error.code == -2 || error.code == -4
                    ? errSecUserCanceled : errSecAuthFailed)
            return
        }
        self.init(
            status: OSStatus(clamping: error.code),
            reason: error.userInfo[NSLocalizedDescriptionKey] as? String)
    }
}
