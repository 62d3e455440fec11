// ServiceClient+Items: requests for items, identities and keys.

package import FoundationEssentials
package import KeychainModel
import KeychainWire

extension ServiceClient: KeychainService {
    package func add(
        _ item: NewItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> Item {
        guard case .item(let stored) = try perform(.add(item), as: caller) else {
            throw .serviceUnreadable(socketPath)
        }
        return stored
    }

    package func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        guard case .items(let items) = try perform(.find(query, retrieval), as: caller) else {
            throw .serviceUnreadable(socketPath)
        }
        return items
    }

    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try count(try perform(.update(query, changes), as: caller))
    }

    package func put(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        as caller: AccessGroups
    ) throws(KeychainFailure) {
        try done(try perform(.put(item, orChange: query, changes), as: caller))
    }

    package func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try count(try perform(.delete(query, tombstones), as: caller))
    }

    // MARK: Identities

    package func addAll(
        _ items: [NewItem], as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        guard case .items(let added) = try perform(.addAll(items), as: caller),
            added.count == items.count
        else { throw .serviceUnreadable(socketPath) }
        return added
    }

    package func findIdentities(
        _ query: IdentityQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        let answer = try perform(.findIdentities(query, retrieval), as: caller)
        switch answer {
        case .identities(let identities): return identities
        default: throw .serviceUnreadable(socketPath)
        }
    }

    package func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try count(try perform(.updateIdentities(query, changes), as: caller))
    }

    package func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try count(try perform(.deleteIdentities(query, tombstones), as: caller))
    }

    // MARK: Passcode

    package func authenticate(passcode: Data) throws(KeychainFailure) -> AuthenticationGrant {
        guard case .grant(let grant) = try perform(.authenticate(passcode: passcode)) else {
            throw .serviceUnreadable(socketPath)
        }
        return grant
    }

    package func knowsPasscode() throws(KeychainFailure) -> Bool {
        try flag(try perform(.knowsPasscode))
    }

    // MARK: Keys in hardware

    package func hasSecureEnclave() throws(KeychainFailure) -> Bool {
        try flag(try perform(.hasSecureEnclave))
    }

    package func makeSecureEnclaveKey(
        _ key: NewSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecureEnclaveKey {
        let answer = try perform(.makeSecureEnclaveKey(key), as: caller)
        guard case .secureEnclaveKey(let made) = answer else {
            throw .serviceUnreadable(socketPath)
        }
        return made
    }

    package func sign(
        digest: Data, with key: Data, authorization: Authorization, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        let answer = try perform(.sign(digest: digest, key: key, authorization), as: caller)
        guard case .data(let signature) = answer else { throw .serviceUnreadable(socketPath) }
        return signature
    }

    package func sharedSecret(
        of key: Data, with publicKey: Data, authorization: Authorization,
        as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        let answer = try perform(
            .sharedSecret(key: key, publicKey: publicKey, authorization), as: caller)
        guard case .data(let secret) = answer else { throw .serviceUnreadable(socketPath) }
        return secret
    }

    // MARK: Changes

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        try listener.subscribe(handler)
    }
}
