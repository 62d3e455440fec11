// Keys of the Secure Enclave by name: making, loading and deleting them, blocking the calling thread.
//   (1) Without a Secure Enclave nothing is made, and no key in software stands in for one.

import KeychainCore

extension Keychain {
    /// Whether there is a Secure Enclave: on Linux, a TPM 2.0 that this program or the service it
    /// speaks to can use.
    ///
    /// - Returns: Whether there is one.
    /// - Throws: ``KeychainError`` with a status of the keychain.
    ///
    /// CryptoKit's `SecureEnclave.isAvailable` corresponds to it.
    public func hasSecureEnclave() throws -> Bool {
        do {
            return try database.backend.hasSecureEnclave()
        } catch {
            throw KeychainError(error, .load, service, nil)
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
    ///   - condition: Who has to be there when it is used.
    /// - Returns: The key.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/secureEnclaveUnavailable`` if there is no Secure Enclave;
    ///   - ``KeychainError/Code/duplicateItem`` if there is a key of this name: load it, or delete it
    ///     first;
    ///   - ``KeychainError/Code/interactionNotAllowed`` while keys of this accessibility are locked:
    ///     try again after unlock;
    ///   - ``KeychainError/Code/authFailed`` if the accessibility or the condition needs a passcode
    ///     and there is none;
    ///   - ``KeychainError/Code/param`` for a name with NUL;
    ///   - or any status of the keychain.
    ///
    /// The corresponding call is `SecKeyCreateRandomKey` with `kSecAttrTokenIDSecureEnclave` and
    /// an access control with `privateKeyUsage`. The name is `kSecAttrLabel`; it makes
    /// `kSecAttrApplicationTag` and `kSecAttrApplicationLabel` together with the service.
    @discardableResult
    public func createSecureEnclaveKey(
        _ name: String, accessibility: Accessibility? = nil, condition: UseCondition = .none
    ) throws -> SecureEnclaveKey {
        let selector = try secureEnclaveSelector(name, .save)
        let handle = try withSecureEnclave(.save, name) { backend throws(BackendFailure) in
            try backend.makeSecureEnclaveKey(
                selector, accessibility: (accessibility ?? self.accessibility).rawValue,
                constraints: try condition.constraints())
        }
        return try SecureEnclaveKey(handle, name: name, service: service)
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
    public func loadSecureEnclaveKey(_ name: String) throws -> SecureEnclaveKey? {
        let selector = try secureEnclaveSelector(name, .load)
        let handle = try withSecureEnclave(.load, name) { backend throws(BackendFailure) in
            try backend.findSecureEnclaveKey(selector)
        }
        return try handle.map { try SecureEnclaveKey($0, name: name, service: service) }
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
    public func deleteSecureEnclaveKey(_ name: String) throws -> Bool {
        let selector = try secureEnclaveSelector(name, .delete)
        return try withSecureEnclave(.delete, name) { backend throws(BackendFailure) in
            try backend.deleteSecureEnclaveKey(selector)
        }
    }

    // MARK: Steps

    private func secureEnclaveSelector(
        _ name: String, _ operation: KeychainError.Operation
    ) throws(KeychainError) -> SecureEnclaveSelector {
        guard !name.utf8.contains(0), !service.utf8.contains(0) else {
            throw KeychainError(.param, operation: operation, service: service, account: name)
        }
        return SecureEnclaveSelector(service: service, accessGroup: accessGroup, name: name)
    }

    /// Makes a request about keys to this keychain, where it has a Secure Enclave.
    private func withSecureEnclave<Result>(
        _ operation: KeychainError.Operation, _ name: String,
        _ body: (any Backend) throws(BackendFailure) -> Result
    ) throws(KeychainError) -> Result {
        let answer = Swift.Result { () throws(BackendFailure) in
            guard try database.backend.hasSecureEnclave() else {
                throw .secureEnclaveUnavailable
            }
            return try body(database.backend)
        }
        return try answer.mapError { KeychainError.ofSecureEnclave($0, operation, service, name) }
            .get()
    }
}

extension Keychain.UseCondition {
    /// What must be satisfied when a key with this condition is used.
    ///
    /// - Throws: `param` for a condition that isn't known.
    fileprivate func constraints() throws(BackendFailure) -> AccessConstraints {
        switch self {
        case .none: return .privateKeyUsage
        case .userPresence: return [.privateKeyUsage, .userPresence]
        case .devicePasscode: return [.privateKeyUsage, .devicePasscode]
        case .biometryAny: return [.privateKeyUsage, .biometryAny]
        case .biometryCurrentSet: return [.privateKeyUsage, .biometryCurrentSet]
        default:
            throw BackendFailure(
                status: KeychainError.Code.param.rawValue,
                reason: "There is no such condition for the use of a key.")
        }
    }
}

extension BackendFailure {
    fileprivate static let secureEnclaveUnavailable = BackendFailure(
        status: KeychainError.Code.unimplemented.rawValue,
        reason: "This keychain has no hardware for keys, such as a TPM 2.0.")
}

extension KeychainError {
    /// What a backend reported of a key in hardware: that something is not implemented says that
    /// there is none.
    static func ofSecureEnclave(
        _ failure: BackendFailure, _ operation: Operation, _ service: String, _ name: String
    ) -> KeychainError {
        var error = KeychainError(failure, operation, service, name)
        if error.code == .unimplemented { error.code = .secureEnclaveUnavailable }
        return error
    }
}
