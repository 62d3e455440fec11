// SecItemHandler: carries out requests by calling the SecItem functions.
//   (1) On Apple platforms this is the only handler outside of tests, and it calls the system's
//       functions. On Linux it calls those of KeychainServices, and only tests use it, partly
//       through KeychainTesting, so that the tests run the same code as on Apple platforms.
//   (2) Apple's SecItem functions return only a status, so on Apple platforms this handler throws
//       just the status, and `KeychainError.cause` is derived from it. On Linux, this package's
//       functions also report the cause, and the handler throws the reported failure.
//   (3) The functions determine the caller's access groups and prompt the user themselves, with an
//       authentication context if one was passed. A request's authorization is ignored.
//   (4) The functions don't report how many items an update or deletion affected. If the query is
//       for passwords and names no account, the matching items are counted immediately before the
//       call; otherwise the result is 1.
//   (5) A request that can't be expressed in a dictionary fails with `unimplemented`. Apart from
//       the authorization, see (3), only the wish to keep earlier versions of items is ignored.

import Foundation
package import KeychainAuthentication
package import KeychainCore

#if canImport(Darwin)
import KeychainServicesDarwin
import Synchronization
#else
package import KeychainRuntime
import KeychainServices
#endif

/// A handler that accesses the keychain through the SecItem functions.
package struct SecItemHandler: RequestHandler, RequestExecutor {
    private(set) var keys = SecureEnclaveKeys()
    /// How the user authenticates, and whether prompting is allowed.
    private var authentication = AuthenticationOptions()

    /// The same keychain with other authentication options. The new handler doesn't hold the
    /// hardware keys that this handler holds, so that a key found under one set of options isn't
    /// used under another. With default options, this handler itself is returned.
    package func authenticating(_ options: AuthenticationOptions) -> SecItemHandler {
        guard !options.isDefault else { return self }
        var handler = self
        handler.authentication = options
        handler.keys = SecureEnclaveKeys()
        return handler
    }

    /// Adds the authentication context to the dictionary of a call that may prompt the user.
    func asking(_ dictionary: SecItemQuery.Dictionary) -> SecItemQuery.Dictionary {
        guard !authentication.isDefault else { return dictionary }
        var options = authentication
        // Forbidding prompts in the context would also affect other requests that use the context,
        // so a new context takes its place.
        if !options.allowsQuestions { options.context = nil }
        let context: Any = options.makeContext()
        return dictionary.merging([kSecUseAuthenticationContext: context]) { $1 }
    }

    #if canImport(Darwin)
    private let context: @Sendable (() -> Void) -> Void

    /// The system's keychain.
    ///
    /// - Parameter context: Calls its argument exactly once. Tests use it to surround each call.
    package init(in context: @escaping @Sendable (() -> Void) -> Void = { $0() }) {
        self.context = context
    }
    #else
    private let keychain: @Sendable () -> ProcessConnection

    /// Creates a handler for the keychain that `keychain` returns. The closure is called before
    /// every call of a SecItem or SecKey function that needs the keychain; a request can make
    /// several such calls.
    package init(_ keychain: @escaping @Sendable () -> ProcessConnection) {
        self.keychain = keychain
    }
    #endif

    // MARK: Items

    package func execute(
        _ request: FindItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        var query = asking(try SecItemQuery.search(request.query, request.retrieval))
        // All keys that requests look for are hardware keys. They have no data; their blobs are
        // made from references instead.
        let isKey = request.query.itemClass == .key
        if isKey, request.retrieval.includesData {
            query[kSecReturnData] = nil
            query[kSecReturnRef] = true
        }
        // SAFETY: the function writes to a variable of `answer`, see there.
        let object = try unsafe answer(to: query, SecItemCopyMatching)
        let found = object as? [NSDictionary] ?? (object as? NSDictionary).map { [$0] }
        guard let found else { throw Self.unexpectedResult }
        var items: [ItemSnapshot] = []
        items.reserveCapacity(found.count)
        for dictionary in found {
            var item = try SecItemQuery.item(dictionary, of: request.query.itemClass)
            if isKey, let reference = dictionary[kSecValueRef] {
                item.data = try blob(of: item, reference: reference as CFTypeRef)
                item.hasData = true
            }
            items.append(item)
        }
        return items
    }

    package func execute(
        _ request: AddItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        if request.item.itemClass == .key { return try addKey(request.item) }
        return try add(SecItemQuery.addition(request.item), request.item)
    }

    func add(
        _ addition: SecItemQuery.Dictionary, _ new: NewItem
    ) throws(KeychainFailure) -> ItemSnapshot {
        // SAFETY: as above.
        let result = try unsafe answer(to: asking(addition), SecItemAdd)
        LocalChanges.shared.signal()
        guard let dictionary = result as? NSDictionary else { throw Self.unexpectedResult }
        var item = try SecItemQuery.item(dictionary, of: new.itemClass)
        item.hasData = new.data != nil
        item.data = new.data
        return item
    }

    package func execute(
        _ request: UpdateItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        let query = asking(try SecItemQuery.query(request.query)) as CFDictionary
        let changes = try SecItemQuery.changes(request.changes) as CFDictionary
        let count = try count(request.query, caller)
        try call { SecItemUpdate(query, changes) }
        LocalChanges.shared.signal()
        return count
    }

    /// Adds the item or, if it exists, updates it. The SecItem functions have no single call for
    /// both.
    package func execute(
        _ request: PutItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        do throws(KeychainFailure) {
            _ = try execute(AddItem(request.item), as: caller)
            return Done()
        } catch {
            guard error.status == .duplicateItem else { throw error }
        }
        var query = request.query
        query.accessGroup = query.accessGroup ?? request.item.accessGroup
        if query.accessGroup == nil { query.accessGroup = try defaultGroup(of: caller) }
        _ = try execute(UpdateItems(query, request.changes), as: caller)
        return Done()
    }

    package func execute(
        _ request: DeleteItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        guard request.tombstones == .automatic else { throw Self.unimplemented }
        let query = try SecItemQuery.query(request.query) as CFDictionary
        let count = try count(request.query, caller)
        try call { SecItemDelete(query) }
        LocalChanges.shared.signal()
        return count
    }

    /// The number of items that match a query, or 1 if the query is for keys or names an account.
    /// Deleting the items one at a time would give an exact count, but could stop half-way; one
    /// call deletes all or none.
    private func count(
        _ query: ItemQuery, _ caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        guard query.itemClass != .key, query.attributes[.account] == nil else { return 1 }
        return try execute(FindItems(query, Retrieval(limit: nil)), as: caller).count
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        LocalChanges.shared.subscribe(handler)
    }

    // MARK: The default group

    #if canImport(Darwin)

    private static let knownDefaultGroup = Mutex<String?>(nil)

    /// The access group of an added item whose request names none.
    ///
    /// The system reveals this group only in an item that was added. So, once per process, a probe
    /// item is added and immediately deleted. The lock is held meanwhile, so that concurrent calls
    /// don't add several probe items.
    private func defaultGroup(of caller: AccessGroups) throws(KeychainFailure) -> String {
        try Self.knownDefaultGroup.withLock { known throws(KeychainFailure) in
            if let known { return known }
            let group = try groupOfProbe()
            known = group
            return group
        }
    }

    /// The access group of a probe item. Subscribers are not notified of it: they could call
    /// ``defaultGroup(of:)`` again.
    private func groupOfProbe() throws(KeychainFailure) -> String {
        let attributes: Attributes = [
            .service: .string("swift-keychain"), .account: .string(UUID().uuidString),
        ]
        let addition = try SecItemQuery.addition(
            NewItem(
                itemClass: .genericPassword, attributes: attributes,
                protection: .afterFirstUnlockThisDeviceOnly, data: Data()))
        let query =
            try SecItemQuery.query(ItemQuery(itemClass: .genericPassword, attributes: attributes))
            as CFDictionary
        // SAFETY: as above.
        let result = try unsafe answer(to: addition, SecItemAdd)
        // If the probe can't be deleted, it remains, and does no harm.
        try? call { SecItemDelete(query) }
        guard let dictionary = result as? NSDictionary else { throw Self.unexpectedResult }
        return try SecItemQuery.item(dictionary, of: .genericPassword).accessGroup
    }

    #else

    /// The access group of an added item whose request names none.
    private func defaultGroup(of caller: AccessGroups) throws(KeychainFailure) -> String {
        guard let group = caller.defaultGroup else {
            throw .missingEntitlement("The caller has no default access group. Specify one.")
        }
        return group
    }

    #endif

    // MARK: Calls

    /// Calls a function with a dictionary and returns its result.
    private func answer(
        to query: SecItemQuery.Dictionary,
        _ function: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
    ) throws(KeychainFailure) -> CFTypeRef? {
        let query = query as CFDictionary
        var object: CFTypeRef?
        // SAFETY: the pointer is used during the call only, and the variable owns the object that
        // is written through it.
        try call { unsafe function(query, &object) }
        return object
    }

    /// Calls a function on this keychain.
    /// - Throws: A failure with the status that the function returns, unless the status is
    ///   `errSecSuccess`.
    func call(_ function: () -> OSStatus) throws(KeychainFailure) {
        #if canImport(Darwin)
        let status = withKeychain(function)
        #else
        let recorder = FailureRecorder()
        let status = KeychainContext.$recorder.withValue(recorder) { withKeychain(function) }
        // Use the recorded failure only if the function returned its status.
        if status != errSecSuccess, let failure = recorder.failure,
            failure.status.rawValue == status
        {
            throw failure
        }
        #endif
        guard status == errSecSuccess else {
            throw KeychainFailure(Status(rawValue: status), "")
        }
    }

    /// Runs `body` with this handler's keychain as the current keychain.
    func withKeychain<Result>(_ body: () -> Result) -> Result {
        #if canImport(Darwin)
        var result: Result?
        context { result = body() }
        guard let result else { preconditionFailure("the function wasn't called") }
        return result
        #else
        KeychainContext.$connection.withValue(keychain(), operation: body)
        #endif
    }

    static let unexpectedResult = KeychainFailure(
        Status(rawValue: errSecInternalComponent),
        "The keychain returned a result of an unexpected type.")

    static let unimplemented = KeychainFailure(
        .unimplemented, "The SecItem functions don't support this operation.")
}
