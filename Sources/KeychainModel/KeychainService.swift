// KeychainService: the one protocol between the facades and whatever holds the items.

package import FoundationEssentials

/// Carries out typed requests for a caller.
///
/// An implementation may run in this process or speak to a service; callers can't tell. Every
/// method is safe to call from many threads at once, and a change is durable when it returns.
/// A method that throws has changed nothing, but where the cause is `interruption`.
package protocol KeychainService: Sendable {
    /// Adds an item.
    /// - Returns: The item as stored, with its data.
    func add(_ item: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> Item

    /// Finds items, in the order in which they were added; with a limit of one, any of them.
    /// - Throws: `itemNotFound` when there are none.
    func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item]

    /// Changes all items that match, or none of them.
    /// - Returns: How many, 1 and up.
    @discardableResult
    func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int

    /// Adds an item or, where its primary key is taken, changes all items that match a query. A query
    /// that names no access group is confined to the one that the item goes to.
    ///
    /// - Throws: `itemNotFound` where the key is taken by an item that the query doesn't mean.
    func put(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        as caller: AccessGroups
    ) throws(KeychainFailure)

    /// Deletes all items that match, or none of them.
    /// - Returns: How many, 1 and up.
    @discardableResult
    func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int

    /// Adds all items, or none of them.
    /// - Returns: The items as stored, with their data, in the same order.
    /// - Throws: `duplicateItem` when the primary key of an item is taken, also by an earlier one
    ///   of the list, and the item doesn't keep existing ones.
    func addAll(_ items: [NewItem], as caller: AccessGroups) throws(KeychainFailure) -> [Item]

    /// Finds identities, in the order in which their certificates were added; with a limit of
    /// one, any of them. Data are those of certificate and key.
    /// - Throws: `itemNotFound` when there are none.
    func findIdentities(
        _ query: IdentityQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity]

    /// Changes certificate and key of all identities that match, or none of them.
    /// - Returns: How many identities, 1 and up.
    @discardableResult
    func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int

    /// Deletes the certificate of every identity that matches and, unless another certificate
    /// has its public key, the key.
    /// - Returns: How many identities, 1 and up.
    @discardableResult
    func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int

    /// Checks the passcode of the keychain, and unlocks it where it is locked.
    /// - Parameter passcode: 0 bytes and up.
    /// - Returns: What opens items under constraints that a passcode satisfies.
    /// - Throws: `authFailed` for a wrong passcode; `notAvailable` where none is set.
    func authenticate(passcode: Data) throws(KeychainFailure) -> AuthenticationGrant

    /// Whether a passcode is set, so that a person can be asked for it.
    func knowsPasscode() throws(KeychainFailure) -> Bool

    /// Whether this keychain has hardware that makes keys and never gives them out.
    func hasSecureEnclave() throws(KeychainFailure) -> Bool

    /// Makes a key on P-256 that never leaves the hardware. It is not stored: who holds its blob
    /// holds the key, as far as its protection class and constraints allow.
    /// - Throws: `unimplemented` where there is no such hardware; never a key in software instead.
    func makeSecureEnclaveKey(
        _ key: NewSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecureEnclaveKey

    /// Signs with a key in hardware, by ECDSA.
    ///
    /// The digest has 32 bytes: they are the leftmost of a longer one, and a shorter one has zeros
    /// before it. The key is the blob of ``SecureEnclaveKey``.
    ///
    /// - Returns: r ‖ s, 64 bytes.
    /// - Throws: `decode` for a blob that is damaged, or another keychain's or other hardware's.
    func sign(
        digest: Data, with key: Data, authorization: Authorization, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data

    /// The x coordinate, 32 bytes, of the product of a key in hardware and another's public key,
    /// which is 04 ‖ X ‖ Y, 65 bytes.
    /// - Throws: `param` for what is no point of P-256.
    func sharedSecret(
        of key: Data, with publicKey: Data, authorization: Authorization,
        as caller: AccessGroups
    ) throws(KeychainFailure) -> Data

    /// Calls `handler` after every later change that this or another process made, and after this
    /// process was locked or unlocked: whatever was read before may be out of date.
    ///
    /// Several changes may be told of by one call, and a call may come without a change. The
    /// handler is called on any thread, also on that of a writer; it must not block.
    ///
    /// - Throws: `unimplemented` where the service can't tell.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription
}

extension KeychainService {
    /// In two steps, between which another process may delete the item: `itemNotFound` then.
    package func put(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        as caller: AccessGroups
    ) throws(KeychainFailure) {
        do {
            _ = try add(item, as: caller)
        } catch {
            guard error.status == .duplicateItem else { throw error }
            var query = query
            query.accessGroup = query.accessGroup ?? item.accessGroup ?? caller.defaultGroup
            try update(query, changes, as: caller)
        }
    }
}

extension KeychainService {
    /// For services that know no passcode.
    package func authenticate(passcode: Data) throws(KeychainFailure) -> AuthenticationGrant {
        throw KeychainFailure(.notAvailable, "This keychain knows no passcode.")
    }

    package func knowsPasscode() throws(KeychainFailure) -> Bool { false }
}

extension KeychainService {
    /// For services without hardware.
    package func hasSecureEnclave() throws(KeychainFailure) -> Bool { false }

    package func makeSecureEnclaveKey(
        _ key: NewSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecureEnclaveKey {
        throw .secureEnclaveUnavailable
    }

    package func sign(
        digest: Data, with key: Data, authorization: Authorization, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        throw .secureEnclaveUnavailable
    }

    package func sharedSecret(
        of key: Data, with publicKey: Data, authorization: Authorization,
        as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        throw .secureEnclaveUnavailable
    }
}

/// A keychain and who speaks to it.
package struct KeychainConnection: Sendable {
    package let service: any KeychainService
    package let caller: AccessGroups

    package init(service: any KeychainService, caller: AccessGroups) {
        self.service = service
        self.caller = caller
    }
}
