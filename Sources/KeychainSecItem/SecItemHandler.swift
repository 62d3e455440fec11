// SecItemHandler: carries out requests by the SecItem functions.
//   (1) The only handler on Apple platforms, where it calls the system's functions. On Linux it calls
//       those of KeychainServices, so that what runs there is tested; no program is linked with it.
//   (2) A status is all that Apple's functions give. On Linux, this package's own tell why
//       beside it; on Apple platforms the cause is what follows from the status.
//   (3) The functions know the caller and ask the person themselves, by a context where one was
//       given. A request's authorization is not looked at.
//   (4) The functions don't tell how many items a change or deletion met. They are counted just
//       before it where the query names no account; else the answer is 1.
//   (5) What has no words in a dictionary is refused with `unimplemented`, never left out.

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

/// The keychain behind the SecItem functions.
package struct SecItemHandler: RequestHandler, RequestExecutor {
    private(set) var keys = SecureEnclaveKeys()
    /// Who answers for the person, and whether the person may be asked.
    private var authentication = AuthenticationOptions()

    /// The same keychain, with another answer for the person. A key that was found for one isn't
    /// used for another.
    package func authenticating(_ options: AuthenticationOptions) -> SecItemHandler {
        guard !options.isDefault else { return self }
        var handler = self
        handler.authentication = options
        handler.keys = SecureEnclaveKeys()
        return handler
    }

    /// A dictionary of a call that may ask the person.
    func asking(_ dictionary: SecItemQuery.Dictionary) -> SecItemQuery.Dictionary {
        guard !authentication.isDefault else { return dictionary }
        var options = authentication
        // A context can't be kept from asking for one request alone.
        if !options.allowsQuestions { options.context = nil }
        let context: Any = options.makeContext()
        return dictionary.merging([kSecUseAuthenticationContext: context]) { $1 }
    }

    #if canImport(Darwin)
    private let context: @Sendable (() -> Void) -> Void

    /// The system's keychain.
    ///
    /// - Parameter context: Runs what it is given, once, with what a test puts around it.
    package init(in context: @escaping @Sendable (() -> Void) -> Void = { $0() }) {
        self.context = context
    }
    #else
    private let keychain: @Sendable () -> ProcessConnection

    /// A keychain, which is asked for at every request.
    package init(_ keychain: @escaping @Sendable () -> ProcessConnection) {
        self.keychain = keychain
    }
    #endif

    // MARK: Items

    package func execute(
        _ request: FindItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        var query = asking(try SecItemQuery.search(request.query, request.retrieval))
        // What hardware keeps has no data. A reference is what its blob is made of.
        let isKey = request.query.itemClass == .key
        if isKey, request.retrieval.includesData {
            query[kSecReturnData] = nil
            query[kSecReturnRef] = true
        }
        // SAFETY: the function writes to a variable of `answer`, as below.
        let object = try unsafe answer(to: query, SecItemCopyMatching)
        let found = object as? [NSDictionary] ?? (object as? NSDictionary).map { [$0] }
        guard let found else { throw Self.unexpectedResult }
        var items: [ItemSnapshot] = []
        items.reserveCapacity(found.count)
        for dictionary in found {
            var item = try SecItemQuery.item(dictionary, of: request.query.itemClass)
            if isKey, let reference = dictionary[kSecValueRef] {
                item.data = try blob(of: item, reference: reference as CFTypeRef)
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

    /// Adds an item.
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

    /// In two steps: the functions know no single one.
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

    /// How many items a query means, as far as it can mean several. One call deletes all or nothing;
    /// deleting them one by one would count exactly and could stop half-way.
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

    /// The group that an addition goes to which names none.
    ///
    /// The system says so of an item that was added and in no other way. One that is deleted at once
    /// is added for it, once in a process.
    private func defaultGroup(of caller: AccessGroups) throws(KeychainFailure) -> String {
        if let known = Self.knownDefaultGroup.withLock({ $0 }) { return known }
        let attributes: Attributes = [
            .service: .string("swift-keychain"), .account: .string(UUID().uuidString),
        ]
        let probe = try execute(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: attributes,
                    protection: .afterFirstUnlockThisDeviceOnly, data: Data())), as: caller)
        _ = try execute(
            DeleteItems(
                ItemQuery(itemClass: .genericPassword, attributes: attributes),
                tombstones: .automatic), as: caller)
        Self.knownDefaultGroup.withLock { $0 = probe.accessGroup }
        return probe.accessGroup
    }

    #else

    /// The group that an addition goes to which names none.
    private func defaultGroup(of caller: AccessGroups) throws(KeychainFailure) -> String {
        guard let group = caller.defaultGroup else {
            throw .missingEntitlement("Name an access group: the caller has no default one.")
        }
        return group
    }

    #endif

    // MARK: Calls

    /// What a function gives for a dictionary.
    private func answer(
        to query: SecItemQuery.Dictionary,
        _ function: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
    ) throws(KeychainFailure) -> CFTypeRef? {
        let query = query as CFDictionary
        var object: CFTypeRef?
        // SAFETY: the pointer is used during the call only, and what is written through it is owned
        // by the variable.
        try call { unsafe function(query, &object) }
        return object
    }

    /// Calls a function on this keychain.
    /// - Throws: The status that it gives, unless that is success.
    func call(_ function: () -> OSStatus) throws(KeychainFailure) {
        #if canImport(Darwin)
        let status = withKeychain(function)
        #else
        let recorder = FailureRecorder()
        let status = KeychainContext.$recorder.withValue(recorder) { withKeychain(function) }
        // A reason belongs to its own status only.
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

    /// Runs functions on this keychain.
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
        "The keychain gave a result of an unknown form.")

    static let unimplemented = KeychainFailure(
        .unimplemented, "The SecItem functions can't be asked for this.")
}
