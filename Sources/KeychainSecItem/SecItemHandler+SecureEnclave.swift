// SecItemHandler+SecureEnclave: keys in hardware by the functions on keys. The same on every platform.
//   (1) The functions give a key itself, not the bytes it is used by. The blob of a key holds the
//       persistent reference by which it is found again or, before it is stored, a name under which
//       this handler holds it.
//   (2) A status leaves as a number, unchanged. An error of another domain becomes the status that the
//       calls on items have for it.

package import Foundation
import KeychainAuthentication
package import KeychainCore
import Crypto
import Synchronization

#if canImport(Darwin)
import KeychainServicesDarwin
#else
import KeychainRuntime
import KeychainServices
#endif

extension SecItemHandler {
    package func execute(
        _ request: HasSecureEnclave, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        #if canImport(Darwin)
        return withKeychain { isSecureEnclaveAvailable }
        #else
        return try withKeychain {
            Result { () throws(KeychainFailure) in
                try KeychainContext.current().handler.perform(HasSecureEnclave())
            }
        }.get()
        #endif
    }

    package func execute(
        _ request: MakeSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> MadeSecureEnclaveKey {
        let parameters = asking(try SecItemQuery.newKey(request.key)) as CFDictionary
        // SAFETY: the place for the error is used during the call only.
        let key = try unsafe answer { unsafe SecKeyCreateRandomKey(parameters, $0) }
        let name = ItemReference.random()
        let blob = SecureEnclaveBlob(
            identifier: name, protection: request.key.protection,
            constraints: request.key.constraints, publicKey: try publicKey(of: key),
            wrappedKey: Data(name.bytes), sealedAuthorization: Self.nothingSealed)
        keys.hold(key, for: blob.encoded)
        return MadeSecureEnclaveKey(blob: blob.encoded, publicKey: blob.publicKey)
    }

    /// Stores a key that was made here. The blob of the item is another than that of the key.
    func addKey(_ item: NewItem) throws(KeychainFailure) -> ItemSnapshot {
        guard let key = item.data.flatMap({ keys.take($0) }) else {
            throw .param("A key of the Secure Enclave is made there. It can't be imported.")
        }
        var added = try add(SecItemQuery.addition(item, of: key), item)
        added.data = try blob(of: added, reference: key)
        return added
    }

    /// What an item that was found or added gives in place of the key.
    func blob(
        of item: ItemSnapshot, reference: CFTypeRef
    ) throws(KeychainFailure) -> Data {
        let key = try secKey(reference)
        let blob = SecureEnclaveBlob(
            identifier: item.reference, protection: item.protection,
            constraints: item.constraints, publicKey: try publicKey(of: key),
            wrappedKey: item.persistentReference, sealedAuthorization: Self.nothingSealed)
        keys.hold(key, for: blob.encoded)
        return blob.encoded
    }

    /// The system keeps what a blob of this package has sealed.
    private static let nothingSealed = Data(
        count: SecureEnclaveBlob.sealedAuthorizationSizes.lowerBound)

    // MARK: Using

    package func execute(
        _ request: SignDigest, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        let key = try key(of: request.key)
        let digest = request.digest as CFData
        // SAFETY: as above.
        let signature =
            try unsafe answer {
                unsafe SecKeyCreateSignature(key, .ecdsaSignatureDigestX962, digest, $0)
            } as Data
        guard let parsed = try? P256.Signing.ECDSASignature(derRepresentation: signature) else {
            throw Self.unexpectedResult
        }
        return parsed.rawRepresentation
    }

    package func execute(
        _ request: DeriveSharedSecret, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecretBytes {
        let key = try key(of: request.key)
        let attributes: SecItemQuery.Dictionary = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass: kSecAttrKeyClassPublic,
        ]
        let (point, none) = (request.publicKey as CFData, [:] as SecItemQuery.Dictionary)
        // SAFETY: as above, for both calls.
        let peer = try unsafe answer {
            unsafe SecKeyCreateWithData(point, attributes as CFDictionary, $0)
        }
        let secret = try unsafe answer {
            unsafe SecKeyCopyKeyExchangeResult(
                key, .ecdhKeyExchangeStandard, peer, none as CFDictionary, $0)
        }
        return SecretBytes(copying: secret as Data)
    }

    /// The key of a blob: one that this handler holds, or one that is stored.
    private func key(of blob: Data) throws(KeychainFailure) -> SecKey {
        if let key = keys.key(for: blob) { return key }
        guard let parsed = SecureEnclaveBlob(decoding: blob) else { throw .foreignSecureEnclaveKey }
        let query = asking(SecItemQuery.key(withReference: parsed.wrappedKey)) as CFDictionary
        var object: CFTypeRef?
        // SAFETY: the pointer is used during the call only, and what is written through it is owned
        // by the variable.
        try call { unsafe SecItemCopyMatching(query, &object) }
        guard let object else { throw Self.unexpectedResult }
        let key = try secKey(object)
        keys.hold(key, for: blob)
        return key
    }

    // MARK: Answers

    /// 04 ‖ X ‖ Y.
    private func publicKey(of key: SecKey) throws(KeychainFailure) -> Data {
        guard let half = SecKeyCopyPublicKey(key) else { throw Self.unexpectedResult }
        // SAFETY: as above.
        return try unsafe answer { unsafe SecKeyCopyExternalRepresentation(half, $0) } as Data
    }

    /// The answer of a function that has a place for an error.
    private func answer<Value>(
        _ function: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Value?
    ) throws(KeychainFailure) -> Value {
        var slot: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call; an error in it is the caller's.
        if let value = withKeychain({ unsafe function(&slot) }) { return value }
        guard let error = unsafe slot?.takeRetainedValue() else { throw Self.unexpectedResult }
        throw KeychainFailure(error as (any Error) as NSError)
    }

    private func secKey(_ object: CFTypeRef) throws(KeychainFailure) -> SecKey {
        #if canImport(Darwin)
        guard CFGetTypeID(object) == SecKeyGetTypeID() else { throw Self.unexpectedResult }
        // SAFETY: the type was looked at. Swift has no cast to a Core Foundation type that can fail.
        return unsafe unsafeDowncast(object, to: SecKey.self)
        #else
        guard let key = object as? SecKey else { throw Self.unexpectedResult }
        return key
        #endif
    }
}

/// The keys that a handler holds, by their blobs: those that are not stored yet, and the last ones
/// that were used, which can be used after their items were deleted.
final class SecureEnclaveKeys: Sendable {
    /// `@unchecked`: no lock is needed, for a key doesn't change and its functions can be called from
    /// many threads at once. Apple's declaration doesn't say so.
    private struct Held: @unchecked Sendable {
        let blob: Data
        let key: SecKey
    }

    private static let limit = 64

    private let held = Mutex<[Held]>([])

    func hold(_ key: SecKey, for blob: Data) {
        let new = Held(blob: blob, key: key)
        held.withLock { held in
            held.removeAll { $0.blob == new.blob }
            if held.count == Self.limit { held.removeFirst() }
            held.append(new)
        }
    }

    func key(for blob: Data) -> SecKey? {
        held.withLock { held in held.first { $0.blob == blob } }?.key
    }

    /// Gives a key, and holds it no longer.
    func take(_ blob: Data) -> SecKey? {
        held.withLock { held in
            held.firstIndex { $0.blob == blob }.map { held.remove(at: $0) }
        }?.key
    }
}

extension KeychainFailure {
    /// What a function on keys failed with. On Apple platforms other frameworks' errors come through
    /// it, such as that a person declined: a number says something within its domain only.
    init(_ error: NSError) {
        let reason = error.userInfo[NSLocalizedDescriptionKey] as? String ?? ""
        switch error.domain {
        case NSOSStatusErrorDomain:
            self.init(Status(rawValue: Int32(clamping: error.code)), reason)
        case LAErrorDomain:
            self.init(Self.status(of: LAError.Code(rawValue: error.code)), reason)
        case Self.tokenErrorDomain:
            self.init(Self.statusOfToken(error.code), reason)
        default:
            self.init(
                .internalError,
                "The function failed with the error \(error.code) of \(error.domain).")
        }
    }

    /// As the calls on items answer. `systemCancel`: the question was taken away, and no person
    /// declined.
    private static func status(of code: LAError.Code?) -> Status {
        switch code {
        case .userCancel: .userCanceled
        case .notInteractive: .interactionNotAllowed
        default: .authFailed
        }
    }

    /// The domain of CryptoTokenKit, to which the Secure Enclave is a token: `TKErrorDomain`.
    private static let tokenErrorDomain = "CryptoTokenKit"

    /// `TKError.Code`.
    private static func statusOfToken(_ code: Int) -> Status {
        switch code {
        case -1: .unimplemented
        case -3: .decode
        case -4: .userCanceled
        case -5: .authFailed
        case -6, -7: .itemNotFound
        case -8: .param
        case -9: .interactionNotAllowed
        default: .internalError
        }
    }
}
