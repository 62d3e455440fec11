// KeychainManager: the generic passwords of one service. It makes one call to Security at a time,
// and never on the main actor.

import Foundation
import Security

/// Saves, loads, deletes and lists the secrets of one service.
public actor KeychainManager {
    /// The manager for the default service: the bundle identifier, or "default" if there is none.
    public static let shared = KeychainManager()

    private let service: String
    private let executor = QueueExecutor(label: "KeychainManager")

    /// A separate queue for this actor, because a call to Security waits for another process or for
    /// the disk and must not block a thread of the cooperative pool.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Creates a manager for the items of one service. Nothing is opened or read before the first
    /// call.
    ///
    /// - Parameter service: The service.
    public init(service: String = Bundle.main.bundleIdentifier ?? "default") {
        self.service = service
    }

    /// Saves a secret: adds it or, if the item exists, updates it.
    ///
    /// An update keeps the item's persistent reference, and no reader finds the item missing.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The account.
    ///   - accessibility: One of the values of `kSecAttrAccessible`.
    /// - Throws: `KeychainError`. `errSecInteractionNotAllowed` means that the device is locked and
    ///   the item is unchanged: save again after the device is unlocked.
    public func save(
        _ data: Data, for key: String,
        accessibility: CFTypeRef = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    ) throws {
        var status = add(data, key, accessibility)
        if status == errSecDuplicateItem {
            status = update(data, key, accessibility)
            // Another process deleted the item after `add` and before `update`, so add it again.
            if status == errSecItemNotFound { status = add(data, key, accessibility) }
        }
        guard status == errSecSuccess else { throw KeychainError(status: status) }
    }

    private func add(_ data: Data, _ key: String, _ accessibility: CFTypeRef) -> OSStatus {
        SecItem.add(
            KeychainQueryBuilder.buildAddition(
                of: data, account: key, service: service, accessibility: accessibility))
    }

    private func update(_ data: Data, _ key: String, _ accessibility: CFTypeRef) -> OSStatus {
        SecItem.update(
            KeychainQueryBuilder.buildQuery(account: key, service: service),
            KeychainQueryBuilder.buildChanges(to: data, accessibility: accessibility))
    }

    /// Loads a secret.
    ///
    /// - Parameter key: The account.
    /// - Returns: The secret, or `nil` if the item does not exist.
    /// - Throws: `KeychainError`. `errSecInteractionNotAllowed` means that the item is locked: load
    ///   again after the device is unlocked. Before the first unlock, an absent item can't be
    ///   distinguished from a locked item.
    public func load(for key: String) throws -> Data? {
        let query = KeychainQueryBuilder.buildQuery(
            account: key, service: service, returnData: true)
        var result: CFTypeRef?
        let status = SecItem.copyMatching(query, &result)
        return try Self.secret(status, result)
    }

    /// Interprets the result of a search for one secret.
    ///
    /// An item without data is not the same as an absent item.
    static func secret(_ status: OSStatus, _ result: CFTypeRef?) throws -> Data? {
        switch status {
        case errSecSuccess:
            guard let data = result as? Data else {
                throw KeychainError(status: errSecDataNotAvailable)
            }
            return data
        case errSecItemNotFound: return nil
        default: throw KeychainError(status: status)
        }
    }

    /// Deletes a secret. Deleting a secret that does not exist succeeds.
    ///
    /// - Parameter key: The account.
    /// - Throws: `KeychainError`.
    public func delete(key: String) throws {
        let status = SecItem.delete(
            KeychainQueryBuilder.buildQuery(account: key, service: service))
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError(status: status)
        }
    }

    /// Returns the accounts that have a secret.
    ///
    /// This method reads attributes and opens no secret.
    ///
    /// - Returns: The accounts, sorted.
    /// - Throws: `KeychainError`.
    public func allAccounts() throws -> [String] {
        let query = KeychainQueryBuilder.buildQuery(
            service: service, returnAttributes: true, matchLimit: kSecMatchLimitAll)
        var result: CFTypeRef?
        let status = SecItem.copyMatching(query, &result)
        switch status {
        case errSecSuccess:
            guard let items = result as? [[String: Any]] else {
                throw KeychainError(status: errSecDataNotAvailable)
            }
            return items.compactMap { $0[kSecAttrAccount as String] as? String }.sorted()
        case errSecItemNotFound: return []
        default: throw KeychainError(status: status)
        }
    }
}
