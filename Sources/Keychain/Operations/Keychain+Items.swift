// The items of a keychain without their secrets, and all of them at once.

import KeychainCore

extension Keychain {
    /// The attributes of an item.
    ///
    /// No secret is read.
    ///
    /// - Parameter key: The name of the item.
    /// - Returns: The attributes; nil if there is no such item.
    /// - Throws: ``KeychainError`` with a status of the keychain.
    public func item<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Item? {
        try access(.list, key.account).attributes()
    }

    /// The attributes of all items of this keychain, in no particular order.
    ///
    /// No secret is read. A damaged item is left out if another one is whole.
    ///
    /// - Throws: ``KeychainError``, with code ``KeychainError/Code/interactionNotAllowed`` if
    ///   one of the items is locked, or any status of the keychain.
    ///
    /// The corresponding call is `SecItemCopyMatching` with a limit of all.
    public func items() throws(KeychainError) -> [Item] {
        do {
            return try list()
        } catch {
            throw KeychainError(error, .list, service)
        }
    }

    func list() throws(KeychainFailure) -> [Item] {
        do throws(KeychainFailure) {
            return try database.connection().perform(FindItems(query, Retrieval(limit: nil)))
                .map { Item($0) }
        } catch {
            if error.status == .itemNotFound { return [] }
            throw error
        }
    }

    /// Deletes all items of this keychain: those of its service, in its access group.
    ///
    /// When it throws, nothing was deleted, except perhaps after an
    /// ``KeychainError/Cause/interruption``. Items of other services, of other groups and, for a
    /// keychain of local items, synchronizable ones stay.
    ///
    /// - Returns: How many there were. On Apple platforms they are counted just before.
    /// - Throws: ``KeychainError`` with a status of the keychain.
    ///
    /// The corresponding call is `SecItemDelete`.
    @discardableResult
    public func removeAll() throws(KeychainError) -> Int {
        defer { ChangeCount.note() }
        do throws(KeychainFailure) {
            return try database.connection().perform(
                DeleteItems(query, tombstones: .automatic, keepsVersions: database.keepsVersions))
        } catch {
            if error.status == .itemNotFound { return 0 }
            throw KeychainError(error, .delete, service)
        }
    }
}
