// SecItemHandler+SecureEnclave: hardware keys, through the SecKey functions. Only the request
// `HasSecureEnclave` and the cast to `SecKey` have different code on Linux and Apple's platforms.
//   (1) The functions return a key object, not the key's blob. This handler therefore makes a blob
//       itself. In place of the wrapped key, the blob contains the persistent reference of the
//       stored key or, before the key is stored, a random name. This handler holds the key object,
//       and finds the object by the blob.
//   (2) An OSStatus is passed on unchanged. An error of LocalAuthentication or CryptoTokenKit is
//       mapped to the status that the SecItem functions return in the same situation, and an error
//       of another domain to `internalError`.

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
        // SAFETY: the pointer for the error is used during the call only.
        let key = try unsafe answer { unsafe SecKeyCreateRandomKey(parameters, $0) }
        let name = ItemReference.random()
        let blob = SecureEnclaveBlob(
            identifier: name, protection: request.key.protection,
            constraints: request.key.constraints, publicKey: try publicKey(of: key),
            wrappedKey: Data(name.bytes), sealedAuthorization: Self.nothingSealed)
        keys.hold(key, for: blob.encoded, isStored: false)
        return MadeSecureEnclaveKey(blob: blob.encoded, publicKey: blob.publicKey)
    }

    /// Stores a key that this handler holds, usually one that it created. The stored item gets a
    /// new blob, different from the key's previous blob.
    func addKey(_ item: NewItem) throws(KeychainFailure) -> ItemSnapshot {
        guard let blob = item.data, let key = keys.key(for: blob) else {
            throw .param(
                "A Secure Enclave key can't be imported. It must be generated in the Secure "
                    + "Enclave.")
        }
        var added = try add(SecItemQuery.addition(item, of: key), item)
        // The previous blob is dropped only after the key is stored, so that a failed addition can
        // be repeated: until then, this handler holds the only reference to the key.
        keys.drop(blob)
        added.data = try self.blob(of: added, reference: key)
        return added
    }

    /// The blob that takes the place of the key's bytes in an item that was found or added.
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

    /// A placeholder: the system protects the key itself, so the blob seals no authorization value.
    private static let nothingSealed = Data(
        count: SecureEnclaveBlob.sealedAuthorizationSizes.lowerBound)

    // MARK: Use

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

    /// The key for a blob: a key that this handler holds, or a stored key.
    private func key(of blob: Data) throws(KeychainFailure) -> SecKey {
        if let key = keys.key(for: blob) { return key }
        guard let parsed = SecureEnclaveBlob(decoding: blob) else { throw .damagedSecureEnclaveKey }
        let query = asking(SecItemQuery.key(withReference: parsed.wrappedKey)) as CFDictionary
        var object: CFTypeRef?
        // SAFETY: the pointer is used during the call only, and the variable owns the object that
        // is written through it.
        try call { unsafe SecItemCopyMatching(query, &object) }
        guard let object else { throw Self.unexpectedResult }
        let key = try secKey(object)
        keys.hold(key, for: blob)
        return key
    }

    // MARK: Results

    /// The public key of `key`, as 04 ‖ X ‖ Y.
    private func publicKey(of key: SecKey) throws(KeychainFailure) -> Data {
        guard let half = SecKeyCopyPublicKey(key) else { throw Self.unexpectedResult }
        // SAFETY: as above.
        return try unsafe answer { unsafe SecKeyCopyExternalRepresentation(half, $0) } as Data
    }

    /// Calls a function that reports its error through a pointer.
    private func answer<Value>(
        _ function: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Value?
    ) throws(KeychainFailure) -> Value {
        var slot: Unmanaged<CFError>?
        // SAFETY: the variable outlives the call. The function returns an error retained, as
        // `takeRetainedValue` requires.
        if let value = withKeychain({ unsafe function(&slot) }) { return value }
        guard let error = unsafe slot?.takeRetainedValue() else { throw Self.unexpectedResult }
        throw KeychainFailure(error as (any Error) as NSError)
    }

    private func secKey(_ object: CFTypeRef) throws(KeychainFailure) -> SecKey {
        #if canImport(Darwin)
        guard CFGetTypeID(object) == SecKeyGetTypeID() else { throw Self.unexpectedResult }
        // SAFETY: the type was checked. Swift has no failable cast to a Core Foundation type.
        return unsafe unsafeDowncast(object, to: SecKey.self)
        #else
        guard let key = object as? SecKey else { throw Self.unexpectedResult }
        return key
        #endif
    }
}

/// The keys that a handler holds, by their blobs: the last ones that were added or found and,
/// separately, those that were generated and are not stored yet. No search finds a key that is not
/// stored, so many more of these are held. A held key remains usable after its item is deleted.
final class SecureEnclaveKeys: Sendable {
    /// `@unchecked` because no lock is needed: a key doesn't change, and its functions may be
    /// called from many threads at once. Apple's declaration is not `Sendable`.
    private struct Held: @unchecked Sendable {
        let blob: Data
        let key: SecKey
    }

    /// Keys in the order of the last call of `hold` for each. Beyond the limit, the first one is
    /// dropped.
    private struct Keys {
        let limit: Int
        var held: [Held] = []

        mutating func hold(_ new: Held) {
            held.removeAll { $0.blob == new.blob }
            if held.count == limit { held.removeFirst() }
            held.append(new)
        }

        func key(for blob: Data) -> Held? {
            held.first { $0.blob == blob }
        }

        mutating func drop(_ blob: Data) {
            held.removeAll { $0.blob == blob }
        }
    }

    private let stored = Mutex(Keys(limit: 64))
    private let notStored = Mutex(Keys(limit: 4096))

    func hold(_ key: SecKey, for blob: Data, isStored: Bool = true) {
        let new = Held(blob: blob, key: key)
        if isStored {
            stored.withLock { $0.hold(new) }
        } else {
            notStored.withLock { $0.hold(new) }
        }
    }

    func key(for blob: Data) -> SecKey? {
        let held = stored.withLock { $0.key(for: blob) } ?? notStored.withLock { $0.key(for: blob) }
        return held?.key
    }

    /// Stops holding the key for a blob.
    func drop(_ blob: Data) {
        notStored.withLock { $0.drop(blob) }
        stored.withLock { $0.drop(blob) }
    }
}

extension KeychainFailure {
    /// The failure for an error of a SecKey function. On Apple platforms these functions also
    /// return errors of other frameworks, such as `LAError.userCancel`. An error code has a meaning
    /// only within its domain.
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

    /// The status that the SecItem functions return for a code of `LAError`. The result for
    /// `systemCancel` is not `userCanceled`: the system canceled the prompt, not the user.
    private static func status(of code: LAError.Code?) -> Status {
        switch code {
        case .userCancel: .userCanceled
        case .notInteractive: .interactionNotAllowed
        default: .authFailed
        }
    }

    /// The domain of CryptoTokenKit, `TKErrorDomain`. CryptoTokenKit treats the Secure Enclave as a
    /// token.
    private static let tokenErrorDomain = "CryptoTokenKit"

    /// The status for a `TKError.Code`.
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
