// Keychain: where a program's secrets are: a service name, an access group and a protection.

import KeychainCore

/// The secrets of one service, kept in the keychain.
///
/// Every secret is a generic password, identified by the service of this value and the account
/// of its key. A `Keychain` holds no secret and no open file; make as many as you like and use
/// them from any thread, task or process at the same time.
///
/// ```swift
/// extension KeychainKey where Value == String {
///     static var token: Self { Self("token") }
/// }
///
/// let keychain = Keychain(service: "com.example.app")
/// try keychain.save("s3cr3t", for: .token)
/// let token = try keychain.load(.token)  // nil if there is none
/// try keychain.delete(.token)
/// ```
///
/// Every operation has two forms of one name. The synchronous form blocks the thread that calls
/// it. The `async` form, which Swift picks in an asynchronous function, does its work on threads
/// of its own; it never blocks the main actor or the executor of its caller.
///
/// The corresponding class of items is `kSecClassGenericPassword`.
public struct Keychain: Sendable {
    /// What the items belong to, by convention a reverse-domain name (`kSecAttrService`).
    public let service: String

    /// The access group of the items (`kSecAttrAccessGroup`), or nil.
    ///
    /// With nil, `save` and `add` are about the first group of the program's entitlements, and every
    /// other operation is about the items of this service in *all* groups of the program. Name
    /// the group if the program has more than one and uses one service name in several.
    public let accessGroup: String?

    /// When items can be read, unless their key says otherwise.
    public let accessibility: Accessibility

    /// Whether the items are synchronizable (`kSecAttrSynchronizable`).
    ///
    /// Synchronizable and local items are apart: neither sees, replaces or deletes the other.
    public let isSynchronizable: Bool

    /// The database that holds the items.
    public let database: KeychainDatabase

    /// A keychain for the items of a service.
    ///
    /// Nothing is opened or read before the first operation.
    ///
    /// - Parameters:
    ///   - service: What the items belong to, by convention a reverse-domain name.
    ///   - accessGroup: The access group of the items. nil: see ``accessGroup``.
    ///   - accessibility: When items can be read. nil: after the first unlock and on this device
    ///     only or, for synchronizable items, after the first unlock.
    ///   - isSynchronizable: Whether the items are synchronizable. Such items can't be kept to
    ///     this device; saving one under a "this device only" accessibility fails with
    ///     ``KeychainError/Code/param``.
    ///   - database: The database that holds the items.
    public init(
        service: String, accessGroup: String? = nil, accessibility: Accessibility? = nil,
        synchronizable isSynchronizable: Bool = false, in database: KeychainDatabase = .default
    ) {
        self.service = service
        self.accessGroup = accessGroup
        self.accessibility =
            accessibility
            ?? (isSynchronizable ? .afterFirstUnlock : .afterFirstUnlockThisDeviceOnly)
        self.isSynchronizable = isSynchronizable
        self.database = database
    }

    /// What all requests of this keychain have in common: all its items.
    var query: ItemQuery {
        ItemQuery(
            itemClass: .genericPassword, attributes: [.service: .string(service)],
            accessGroup: accessGroup, isSynchronizable: isSynchronizable)
    }

    func access(_ operation: KeychainError.Operation, _ account: String) -> ItemAccess {
        var item = query
        item.attributes[.account] = .string(account)
        return ItemAccess(operation: operation, item: item, database: database)
    }
}
