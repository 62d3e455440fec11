// Keychain: identifies a set of items by database, service or server, access group and
// synchronizability, and gives the accessibility of new values.

import KeychainCore

/// The secrets of one service, or the passwords of one server, in the keychain.
///
/// The service or ``Server`` of this value, together with the account of a ``KeychainKey``,
/// identifies each secret of an access group. A `Keychain` value holds no secret and no open file.
/// Create as many as you like, and use them concurrently from any thread, task or process.
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
/// Every operation on an item has a synchronous and an `async` form with the same name, except that
/// waiting for availability is only `async`, and signing a digest with a ``SecureEnclaveKey`` only
/// synchronous. The synchronous form blocks the calling thread. The `async` form, which Swift
/// chooses in an asynchronous function, runs on the keychain's own threads and never blocks the
/// main actor or the caller's executor.
///
/// The corresponding item class is `kSecClassGenericPassword` for a service and
/// `kSecClassInternetPassword` for a server.
public struct Keychain: Sendable {
    /// The service that the items belong to, by convention a reverse-domain name
    /// (`kSecAttrService`). For internet passwords, the server's host.
    public let service: String

    /// The server, if the items are its internet passwords, or `nil` if the items belong to a
    /// service.
    public let server: Server?

    /// The access group of the items (`kSecAttrAccessGroup`), or `nil`.
    ///
    /// If `nil`, `save` and `add` use the first group in the program's entitlements. Every other
    /// operation applies to the items of this service in *all* of the program's groups, and adds an
    /// item to the first group if it has to add one. Specify the group if the program has several
    /// groups and uses the same service name in more than one of them.
    public let accessGroup: String?

    /// The accessibility of items that are saved through this value: when they can be read. A
    /// ``KeychainKey`` that specifies its own accessibility overrides it.
    public let accessibility: Accessibility

    /// Whether the items are synchronizable (`kSecAttrSynchronizable`).
    ///
    /// Synchronizable and local items are separate: an operation on one kind never returns,
    /// replaces or deletes an item of the other. Secure Enclave keys are local, whatever the value
    /// of this property.
    public let isSynchronizable: Bool

    /// The database that holds the items.
    public internal(set) var database: KeychainDatabase

    /// Creates a keychain for the items of a service.
    ///
    /// Nothing is opened or read before the first operation.
    ///
    /// - Parameters:
    ///   - service: The service that the items belong to, by convention a reverse-domain name.
    ///   - accessGroup: The access group of the items. For the meaning of `nil`, see
    ///     ``accessGroup``.
    ///   - accessibility: When saved items can be read. `nil` means after the first unlock and,
    ///     unless the items are synchronizable, on this device only.
    ///   - isSynchronizable: Whether the items are synchronizable. Synchronizable items can't be
    ///     restricted to this device: saving one with a "this device only" accessibility fails with
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

    /// Creates a keychain for the internet passwords of a server.
    ///
    /// All operations are available, with the same guarantees as for the items of a service; for
    /// the one exception on Apple platforms, see ``Server``. Nothing is opened or read before the
    /// first operation.
    ///
    /// - Parameters:
    ///   - server: The server that the items belong to.
    ///   - accessGroup: The access group of the items. For the meaning of `nil`, see
    ///     ``accessGroup``.
    ///   - accessibility: When saved items can be read. `nil` means after the first unlock and,
    ///     unless the items are synchronizable, on this device only.
    ///   - isSynchronizable: Whether the items are synchronizable, with the same restriction as for
    ///     the items of a service.
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

    /// A copy of this keychain that is restricted to one access group.
    func inGroup(_ group: String) -> Keychain {
        Keychain(
            service, server, accessGroup: group, accessibility: accessibility,
            isSynchronizable: isSynchronizable, database)
    }

    /// The query that matches all items of this keychain, apart from Secure Enclave keys. All
    /// requests for these items start from it.
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
