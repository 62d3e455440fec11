// Keychain+SecureEnclave: synchronous operations that create, load and delete Secure Enclave keys
// by name.
//   (1) Without a Secure Enclave, no key is created. A software key is never used instead.
//   (2) A key is stored before it is returned. If storing it fails, the key is lost.
//   (3) The item of a key is the same as the one that the SecItem functions store for the same
//       request, so each API finds the keys that the other created.

import Foundation
import KeychainCore

extension Keychain {
    /// Checks whether a Secure Enclave is available: on Linux, a TPM 2.0 that this program or the
    /// service that it uses can access.
    ///
    /// - Returns: `true` if a Secure Enclave is available.
    /// - Throws: ``KeychainError`` with the status of the failure.
    ///
    /// The corresponding property is CryptoKit's `SecureEnclave.isAvailable`.
    public func hasSecureEnclave() throws(KeychainError) -> Bool {
        do {
            return try database.connection().perform(HasSecureEnclave())
        } catch {
            throw KeychainError(error, .load, service)
        }
    }

    /// Creates a P-256 key in the Secure Enclave. The key is bound to this device and can't be
    /// extracted.
    ///
    /// The key is durable when this method returns. If it throws, nothing was stored, except
    /// possibly after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - name: A name that is unique among the keys of this service and access group. It must not
    ///     contain NUL characters.
    ///   - accessibility: When the key can be used. If `nil`, the keychain's accessibility applies.
    ///   - accessControl: The authentication that using the key requires, or `nil` for none.
    /// - Returns: The key.
    /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of the
    ///   keychain:
    ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if no Secure Enclave is available.
    ///   - ``KeychainError/Code/duplicateItem`` if a key with this name exists. Load that key, or
    ///     delete it first.
    ///   - ``KeychainError/Code/interactionNotAllowed`` while keys of this accessibility are
    ///     locked. Retry after the unlock.
    ///   - ``KeychainError/Code/authFailed`` if the accessibility or the access control requires a
    ///     passcode and none is set, or if the access control requires an application password and
    ///     there is none.
    ///   - ``KeychainError/Code/param`` if the name, the service or the server contains a NUL
    ///     character.
    ///
    /// The corresponding call is `SecKeyCreateRandomKey` with `kSecAttrTokenIDSecureEnclave` and an
    /// access control with `privateKeyUsage`. The name is stored as `kSecAttrLabel`.
    /// `kSecAttrApplicationTag` and `kSecAttrApplicationLabel` are formed from the service and the
    /// name.
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

    /// Loads a Secure Enclave key. The user is not asked for authentication, and the key is not
    /// used.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: The key, or `nil` if no key with this name exists.
    /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of the
    ///   keychain:
    ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if no Secure Enclave is available.
    ///     It is then unknown whether the key exists.
    ///   - ``KeychainError/Code/interactionNotAllowed`` if the key is locked or, on Linux before
    ///     the first unlock, if it is unknown whether the key exists. Retry after the unlock.
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

    /// Deletes a Secure Enclave key permanently: no version of it is kept, whatever the user's
    /// history settings are. Deleting a key that does not exist succeeds.
    ///
    /// - Parameter name: The name of the key.
    /// - Returns: `true` if the key existed.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/secureEnclaveUnavailable`` if no
    ///   Secure Enclave is available, or with any other status of the keychain. Nothing was
    ///   deleted, except possibly after an ``KeychainError/Cause/interruption``.
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

    // MARK: Implementation

    /// Performs requests for a key, after checking that the keychain has a Secure Enclave.
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

    /// Returns the query for the key with a name.
    ///
    /// The application tag is the service, a NUL and the name. Service and name contain no NUL. The
    /// tag is also the application label, which is part of a key's primary key, so there is only
    /// one key per name in an access group. For a server, all parts of the server take the place of
    /// the service, each preceded by a NUL. The tag therefore differs from that of every service
    /// and every other server.
    private func secureEnclaveKey(_ name: String) throws(KeychainFailure) -> ItemQuery {
        let texts = [name, service] + (server?.parts ?? [])
        guard !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw .param("The name, service and server of a key must not contain NUL.")
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
    /// The attributes of a new key: those of a P-256 hardware key, and those of the query.
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
    /// The error of a request for a hardware key. A status that says "not implemented" means that
    /// no Secure Enclave is available.
    static func ofSecureEnclave(
        _ failure: KeychainFailure, _ operation: Operation, _ service: String, _ name: String
    ) -> KeychainError {
        var error = KeychainError(failure, operation, service, name)
        if error.code == .unimplemented { error.code = .secureEnclaveUnavailable }
        return error
    }
}
