// Keychain+Items: lists the items of a keychain without their secrets, and deletes all of them.

import KeychainCore

extension Keychain {
    /// Returns the attributes of an item, without reading its secret.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The attributes, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError``. Its code is the status that the keychain returned.
    public func item<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Item? {
        try access(.list, key.account).attributes()
    }

    /// Returns the attributes of all items of this keychain, in no particular order.
    ///
    /// No secret is read. Secure Enclave keys are not listed. Items that are damaged, or that can
    /// be read only on another machine, are omitted if at least one other item is found.
    ///
    /// - Throws: ``KeychainError``. Its code is ``KeychainError/Code/interactionNotAllowed`` if one
    ///   of the items is locked. On Linux before the first unlock, this is also the code if the
    ///   keychain can't tell whether there is such an item. For any other failure, the code is the
    ///   status that the keychain returned.
    ///
    /// The corresponding call is `SecItemCopyMatching` with `kSecMatchLimitAll`.
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

    /// Deletes all items of this keychain: all items of its service or server in its access group
    /// or, if ``accessGroup`` is `nil`, in all of the program's groups.
    ///
    /// If this method throws, nothing was deleted, except possibly after an
    /// ``KeychainError/Cause/interruption``. Items of other services and other groups are kept, and
    /// so are Secure Enclave keys. Synchronizable items are kept if this keychain is for local
    /// items, and local items if it is for synchronizable ones.
    ///
    /// - Returns: The number of deleted items. On Apple platforms, the items are counted just
    ///   before the deletion.
    /// - Throws: ``KeychainError``. Its code is the status that the keychain returned.
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
