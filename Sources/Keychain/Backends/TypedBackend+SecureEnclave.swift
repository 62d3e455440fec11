// TypedBackend+SecureEnclave: keys in the keychain's hardware, without dictionaries.
//   (1) A key is stored before it is handed out. If storing fails, the key is gone.
//   (2) The item of a key is the one that the SecItem backend stores for the same request, so each
//       finds the keys that the other made.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainCore

extension TypedBackend {
    func makeSecureEnclaveKey(
        _ key: SecureEnclaveSelector, accessibility: String, constraints: AccessConstraints
    ) throws(BackendFailure) -> any SecureEnclaveHandle {
        let protection = try protection(accessibility)
        return try withKeychain { keychain throws(KeychainFailure) in
            let made = try keychain.perform(
                MakeSecureEnclaveKey(
                    NewSecureEnclaveKey(protection: protection, constraints: constraints)))
            let item = NewItem(
                itemClass: .key, attributes: key.attributes, accessGroup: key.accessGroup,
                protection: protection, constraints: constraints, data: made.blob)
            _ = try keychain.perform(AddItem(item))
            return try TypedSecureEnclaveKey(blob: made.blob, in: keychain)
        }
    }

    func findSecureEnclaveKey(
        _ key: SecureEnclaveSelector
    ) throws(BackendFailure) -> (any SecureEnclaveHandle)? {
        try withKeychain { keychain throws(KeychainFailure) in
            let found: [ItemSnapshot]
            do throws(KeychainFailure) {
                found = try keychain.perform(FindItems(key.query, Retrieval(includesData: true)))
            } catch {
                if error.status == .itemNotFound { return nil }
                throw error
            }
            guard let item = found.first else { return nil }
            return try TypedSecureEnclaveKey(blob: item.data ?? Data(), in: keychain)
        }
    }

    func deleteSecureEnclaveKey(_ key: SecureEnclaveSelector) throws(BackendFailure) -> Bool {
        try withKeychain { keychain throws(KeychainFailure) in
            do throws(KeychainFailure) {
                try keychain.perform(DeleteItems(key.query, tombstones: .automatic))
                return true
            } catch {
                if error.status == .itemNotFound { return false }
                throw error
            }
        }
    }

    private func withKeychain<Result>(
        _ body: (KeychainConnection) throws(KeychainFailure) -> Result
    ) throws(BackendFailure) -> Result {
        do {
            return try body(try connection())
        } catch {
            throw BackendFailure(error)
        }
    }
}

extension SecureEnclaveSelector {
    /// What tells the key's item from others.
    private var identity: Attributes {
        [
            .keyClass: .number(1), .tokenID: .string(Attributes.secureEnclaveToken),
            .applicationLabel: .data(tag), .applicationTag: .data(tag),
        ]
    }

    fileprivate var query: ItemQuery {
        ItemQuery(
            itemClass: .key, attributes: identity, accessGroup: accessGroup,
            isSynchronizable: false)
    }

    /// The attributes of a new item.
    fileprivate var attributes: Attributes {
        let onP256 = Attributes.ofKey(
            type: Attributes.ellipticKeyType, sizeInBits: 256, isPrivate: true, isRSA: false,
            agrees: true)
        var attributes = onP256.merging(Attributes.ofKeyInHardware) { _, fixed in fixed }
            .merging(identity) { _, own in own }
        attributes[.label] = .string(name)
        return attributes
    }
}

/// A key in hardware, with the keychain that uses it and the person in front of that.
private struct TypedSecureEnclaveKey: SecureEnclaveHandle {
    let publicKey: Data
    private let blob: Data
    private let keychain: KeychainConnection

    /// - Throws: `decode` for other bytes.
    init(blob: Data, in keychain: KeychainConnection) throws(KeychainFailure) {
        guard let parsed = SecureEnclaveBlob(decoding: blob) else {
            throw .foreignSecureEnclaveKey
        }
        publicKey = parsed.publicKey
        self.blob = blob
        self.keychain = keychain
    }

    func sign(_ input: Data, isDigest: Bool) throws(BackendFailure) -> Data {
        let digest =
            isDigest
            ? MadeSecureEnclaveKey.signedBytes(of: input) : Data(SHA256.hash(data: input))
        do throws(KeychainFailure) {
            let signature = try keychain.perform(
                SignDigest(digest, with: blob, authorization: Authorization()))
            guard let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { throw KeychainFailure(.internalError, "The hardware gave no signature.") }
            return parsed.derRepresentation
        } catch {
            throw BackendFailure(error)
        }
    }

    func agree(with publicKey: Data) throws(BackendFailure) -> Data {
        do {
            return try keychain.perform(
                DeriveSharedSecret(of: blob, with: publicKey, authorization: Authorization()))
        } catch {
            throw BackendFailure(error)
        }
    }
}

#endif
