// Keys of the Secure Enclave by name: making, loading and deleting them, blocking the calling thread.
//   (1) Without a Secure Enclave nothing is made, and no key in software stands in for one.
//   (2) A key is stored before it is handed out. If storing fails, the key is gone.
//   (3) The item of a key is the one that the SecItem functions store for the same request, so each
//       finds the keys that the other made.

import Foundation
import KeychainCore

extension Keychain {
    /// Whether there is a Secure Enclave: on Linux, a TPM 2.0 that this program or the service it
    /// speaks to can use.
    ///
    /// - Returns: Whether there is one.
    /// - Throws: ``KeychainError`` with a status of the keychain.
    ///
    /// CryptoKit's `SecureEnclave.isAvailable` corresponds to it.
    public func hasSecureEnclave() throws(KeychainError) -> Bool {
        do {
            return try database.connection().perform(HasSecureEnclave())
        } catch {
            throw KeychainError(error, .load, service)
        }
    }

    /// Makes a key in the Secure Enclave: on P-256, bound to this device, never extractable.
    ///
    /// It is durable when this returns. When it throws, nothing was stored, except perhaps after an
    /// ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - name: The name of the key among those of this service and access group. Without NUL.
    ///   - accessibility: When it can be used. nil: as the items of this keychain can be read.
    ///   - accessControl: What has to be shown when it is used. nil: nothing.
    /// - Returns: The key.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if there is no Secure Enclave;
    ///   - ``KeychainError/Code/duplicateItem`` if there is a key of this name: load it, or delete it
    ///     first;
    ///   - ``KeychainError/Code/interactionNotAllowed`` while keys of this accessibility are locked:
    ///     try again after unlock;
    ///   - ``KeychainError/Code/authFailed`` if the accessibility or the access control needs a passcode
    ///     and there is none;
    ///   - ``KeychainError/Code/param`` for a name with NUL;
    ///   - or any status of the keychain.
    ///
    /// The corresponding call is `SecKeyCreateRandomKey` with `kSecAttrTokenIDSecureEnclave` and
    /// an access control with `privateKeyUsage`. The name is `kSecAttrLabel`; it makes
    /// `kSecAttrApplicationTag` and `kSecAttrApplicationLabel` together with the service.
    @discardableResult
    public func createSecureEnclaveKey(
        _ name: String, accessibility: Accessibility? = nil, accessControl: AccessControl? = nil
    ) throws(KeychainError) -> SecureEnclaveKey {
        let blob = try withSecureEnclave(.save, name) { keychain, key throws(KeychainFailure) in
            let constraints = (accessControl?.constraints ?? []).union(.privateKeyUsage)
            let protection = (accessibility ?? self.accessibility).protection
            let made = try keychain.perform(
                MakeSecureEnclaveKey(
                    NewSecureEnclaveKey(protection: protection, constraints: constraints)))
            let item = NewItem(
                itemClass: .key, attributes: key.attributesOfNewKey(named: name),
                accessGroup: accessGroup, protection: protection, constraints: constraints,
                data: made.blob)
            return try keychain.perform(AddItem(item)).data ?? made.blob
        }
        return try SecureEnclaveKey(blob, name: name, in: self)
    }

    /// Loads a key of the Secure Enclave. The user isn't asked for that, and the key is not used.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: The key; nil if there is none of this name.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if there is no Secure Enclave: whether there
    ///     is such a key isn't said then;
    ///   - ``KeychainError/Code/interactionNotAllowed`` while the key is locked: it is there, try again
    ///     after unlock;
    ///   - or any status of the keychain.
    ///
    /// The corresponding call is `SecItemCopyMatching` with `kSecReturnRef`.
    public func loadSecureEnclaveKey(
        _ name: String
    ) throws(KeychainError) -> SecureEnclaveKey? {
        let blob = try withSecureEnclave(.load, name) {
            keychain, key throws(KeychainFailure) -> Data? in
            do throws(KeychainFailure) {
                return try keychain.perform(FindItems(key, Retrieval(includesData: true)))
                    .first?.secret
            } catch {
                if error.status == .itemNotFound { return nil }
                throw error
            }
        }
        guard let blob else { return nil }
        return try SecureEnclaveKey(blob, name: name, in: self)
    }

    /// Deletes a key of the Secure Enclave, for good. Deleting one that is not there succeeds.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: Whether there was one.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/secureEnclaveUnavailable`` if there is
    ///   no Secure Enclave, or any status of the keychain. Nothing was deleted then.
    ///
    /// The corresponding call is `SecItemDelete`.
    @discardableResult
    public func deleteSecureEnclaveKey(_ name: String) throws(KeychainError) -> Bool {
        try withSecureEnclave(.delete, name) { keychain, key throws(KeychainFailure) in
            do throws(KeychainFailure) {
                try keychain.perform(DeleteItems(key, tombstones: .automatic))
                return true
            } catch {
                if error.status == .itemNotFound { return false }
                throw error
            }
        }
    }

    // MARK: Steps

    /// Makes requests about a key to this keychain, where it has a Secure Enclave.
    private func withSecureEnclave<Result>(
        _ operation: KeychainError.Operation, _ name: String,
        _ body: (KeychainDatabase.Connection, ItemQuery) throws(KeychainFailure) -> Result
    ) throws(KeychainError) -> Result {
        do throws(KeychainFailure) {
            let key = try secureEnclaveKey(name)
            let keychain = try database.connection()
            guard try keychain.perform(HasSecureEnclave()) else {
                throw KeychainFailure(
                    .unimplemented, "This keychain has no hardware for keys, such as a TPM 2.0.")
            }
            return try body(keychain, key)
        } catch {
            throw KeychainError.ofSecureEnclave(error, operation, service, name)
        }
    }

    /// The key of a name.
    ///
    /// Service and name, which both are without NUL, are the key's application tag, and its
    /// application label too, which is the first part of a key's primary key: so there is one key of
    /// a name. With a server, all of its parts stand where the service stands, each after a NUL: so no
    /// service has the same tag, and no other server.
    private func secureEnclaveKey(_ name: String) throws(KeychainFailure) -> ItemQuery {
        let texts = [name, service] + (server?.parts ?? [])
        guard !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw .param("The name of a key and its service or server are without NUL.")
        }
        let owner = server.map { $0.parts.map { "\0" + $0 }.joined() } ?? service
        let tag = AttributeValue.data(Data(owner.utf8) + [0] + Data(name.utf8))
        return ItemQuery(
            itemClass: .key,
            attributes: [
                .keyClass: .number(1), .tokenID: .string(Attributes.secureEnclaveToken),
                .applicationLabel: tag, .applicationTag: tag,
            ], accessGroup: accessGroup, isSynchronizable: false)
    }
}

extension ItemQuery {
    /// The attributes of the key that a query tells from others.
    fileprivate func attributesOfNewKey(named name: String) -> Attributes {
        let onP256 = Attributes.ofKey(
            type: Attributes.ellipticKeyType, sizeInBits: 256, isPrivate: true, isRSA: false,
            agrees: true)
        var new = onP256.merging(Attributes.ofKeyInHardware) { _, fixed in fixed }
            .merging(attributes) { _, own in own }
        new[.label] = .string(name)
        return new
    }
}

extension KeychainError {
    /// What a request about a key in hardware failed with: that something is not implemented says that
    /// there is none.
    static func ofSecureEnclave(
        _ failure: KeychainFailure, _ operation: Operation, _ service: String, _ name: String
    ) -> KeychainError {
        var error = KeychainError(failure, operation, service, name)
        if error.code == .unimplemented { error.code = .secureEnclaveUnavailable }
        return error
    }
}
