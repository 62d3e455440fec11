// Keychain: where a program's secrets are: a service or a server, an access group and a protection.

import KeychainCore

/// The secrets of one service, or the passwords of one server, kept in the keychain.
///
/// Every secret is identified by the service or the ``Server`` of this value and the account of its
/// key. A `Keychain` holds no secret and no open file; make as many as you like and use
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
/// The corresponding class of items is `kSecClassGenericPassword` for a service, and
/// `kSecClassInternetPassword` for a server.
public struct Keychain: Sendable {
    /// What the items belong to, by convention a reverse-domain name (`kSecAttrService`). For
    /// internet passwords, the host of the server.
    public let service: String

    /// The server whose internet passwords the items are. nil: they belong to a service.
    public let server: Server?

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
    public internal(set) var database: KeychainDatabase

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
        self.init(
            service, nil, accessGroup: accessGroup, accessibility: accessibility,
            isSynchronizable: isSynchronizable, database)
    }

    /// A keychain for the internet passwords of a server.
    ///
    /// Every operation is there for them, with the same guarantees. Nothing is opened or read before
    /// the first one.
    ///
    /// - Parameters:
    ///   - server: What the items belong to.
    ///   - accessGroup: The access group of the items. nil: see ``accessGroup``.
    ///   - accessibility: When items can be read. nil: after the first unlock and on this device
    ///     only or, for synchronizable items, after the first unlock.
    ///   - isSynchronizable: Whether the items are synchronizable, as for those of a service.
    ///   - database: The database that holds the items.
    public init(
        server: Server, accessGroup: String? = nil, accessibility: Accessibility? = nil,
        synchronizable isSynchronizable: Bool = false, in database: KeychainDatabase = .default
    ) {
        self.init(
            server.host, server, accessGroup: accessGroup, accessibility: accessibility,
            isSynchronizable: isSynchronizable, database)
    }

    private init(
        _ service: String, _ server: Server?, accessGroup: String?,
        accessibility: Accessibility?, isSynchronizable: Bool, _ database: KeychainDatabase
    ) {
        self.service = service
        self.server = server
        self.accessGroup = accessGroup
        self.accessibility =
            accessibility
            ?? (isSynchronizable ? .afterFirstUnlock : .afterFirstUnlockThisDeviceOnly)
        self.isSynchronizable = isSynchronizable
        self.database = database
    }

    /// The same items as far as they are in one group.
    func inGroup(_ group: String) -> Keychain {
        Keychain(
            service, server, accessGroup: group, accessibility: accessibility,
            isSynchronizable: isSynchronizable, database)
    }

    /// What all requests of this keychain have in common: all its items.
    var query: ItemQuery {
        ItemQuery(
            itemClass: server == nil ? .genericPassword : .internetPassword,
            attributes: server?.attributes ?? [.service: .string(service)],
            accessGroup: accessGroup, isSynchronizable: isSynchronizable)
    }

    func access(_ operation: KeychainError.Operation, _ account: String) -> ItemAccess {
        var item = query
        item.attributes[.account] = .string(account)
        return ItemAccess(operation: operation, item: item, database: database)
    }
}
