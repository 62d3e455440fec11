// SecItemBackend: requests as dictionaries through the SecItem functions.
//   (1) The only backend on Apple platforms, where it calls the system's functions. On Linux it calls
//       those of KeychainServices, so that what runs there is tested; no program is linked with it.
//   (2) A status is all that Apple's functions give. On Linux, this package's own tell why
//       beside it; on Apple platforms the cause is what follows from the status.

package import Foundation
package import KeychainCore

#if canImport(Darwin)
import Crypto
import KeychainServicesDarwin
import Synchronization
#else
import KeychainRuntime
import KeychainServices
#endif

/// Keeps the items behind the SecItem functions.
package struct SecItemBackend: Backend {
    /// Calls a function in the surroundings it needs.
    private let scope: @Sendable (() -> OSStatus) -> OSStatus

    #if canImport(Darwin)
    /// The items of the system's keychain.
    package init() { scope = { $0() } }
    #else
    /// The items of a keychain, which is asked for at every request.
    package init(_ keychain: @escaping @Sendable () -> KeychainConnection) {
        scope = { call in KeychainContext.$connection.withValue(keychain(), operation: call) }
    }
    #endif

    package func load(_ item: ItemSelector) throws(BackendFailure) -> Data? {
        let found = try search(SecItemQuery.search(item, data: true, attributes: false))
        guard let found else { return nil }
        // An item without a secret gives no result, and success.
        guard let object = found.object else { return Data() }
        guard let data = object as? Data else { throw Self.unexpectedResult }
        return data
    }

    package func loadVersion(_ item: ItemSelector) throws(BackendFailure) -> VersionedData? {
        let found = try search(SecItemQuery.search(item, data: true, attributes: true))
        guard let found else { return nil }
        guard let dictionary = found.object as? NSDictionary,
            let date = dictionary[kSecAttrModificationDate] as? Date
        else { throw Self.unexpectedResult }
        return VersionedData(
            data: dictionary[kSecValueData] as? Data ?? Data(),
            version: date.timeIntervalSinceReferenceDate)
    }

    package func attributes(_ item: ItemSelector) throws(BackendFailure) -> ItemSummary? {
        let found = try search(SecItemQuery.search(item, data: false, attributes: true))
        guard let found else { return nil }
        guard let dictionary = found.object as? NSDictionary else { throw Self.unexpectedResult }
        return try Self.attributes(dictionary)
    }

    package func list(_ namespace: Namespace) throws(BackendFailure) -> [ItemSummary] {
        guard let found = try search(SecItemQuery.list(namespace)) else { return [] }
        guard let dictionaries = found.object as? NSArray else { throw Self.unexpectedResult }
        var items: [ItemSummary] = []
        items.reserveCapacity(dictionaries.count)
        for object in dictionaries {
            guard let dictionary = object as? NSDictionary else { throw Self.unexpectedResult }
            items.append(try Self.attributes(dictionary))
        }
        return items
    }

    package func add(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool
    {
        let addition = SecItemQuery.addition(item, contents) as CFDictionary
        let result = call { SecItemAdd(addition, nil) }
        return try Self.change(result, no: errSecDuplicateItem)
    }

    package func update(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure)
        -> Bool
    {
        let query = SecItemQuery.item(item) as CFDictionary
        let changes = SecItemQuery.changes(contents) as CFDictionary
        let result = call { SecItemUpdate(query, changes) }
        return try Self.change(result, no: errSecItemNotFound)
    }

    /// In two steps: the functions know no single one.
    package func put(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool
    {
        if try add(item, contents) { return true }
        var item = item
        if item.namespace.accessGroup == nil { item.namespace.accessGroup = try defaultGroup() }
        return try update(item, contents)
    }

    package func delete(_ item: ItemSelector) throws(BackendFailure) -> Bool {
        let query = SecItemQuery.item(item) as CFDictionary
        let result = call { SecItemDelete(query) }
        return try Self.change(result, no: errSecItemNotFound)
    }

    package func deleteAll(_ namespace: Namespace) throws(BackendFailure) -> Int {
        // `SecItemDelete` doesn't say how many, and one call deletes all or nothing; deleting
        // them one by one would count exactly and could stop half-way.
        let count = try list(namespace).count
        let query = SecItemQuery.all(namespace) as CFDictionary
        let result = call { SecItemDelete(query) }
        return try Self.change(result, no: errSecItemNotFound) ? count : 0
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(BackendFailure) -> any ChangeSubscription {
        LocalChanges.shared.subscribe(handler)
    }

    // MARK: Keys in hardware

    package func makeSecureEnclaveKey(
        _ key: SecureEnclaveSelector, accessibility: String, constraints: AccessConstraints
    ) throws(BackendFailure) -> any SecureEnclaveHandle {
        try withFunctions { () throws(BackendFailure) in
            try SecKeyHandle(new: key, accessibility, constraints)
        }
    }

    package func findSecureEnclaveKey(
        _ key: SecureEnclaveSelector
    ) throws(BackendFailure) -> (any SecureEnclaveHandle)? {
        try withFunctions { () throws(BackendFailure) in try SecKeyHandle.find(key) }
    }

    package func deleteSecureEnclaveKey(
        _ key: SecureEnclaveSelector
    ) throws(BackendFailure) -> Bool {
        try withFunctions { () throws(BackendFailure) in try SecKeyHandle.delete(key) }
    }

    /// Runs functions on this keychain.
    private func withFunctions<Result>(
        _ body: () throws(BackendFailure) -> Result
    ) throws(BackendFailure) -> Result {
        var answer: Swift.Result<Result, BackendFailure>?
        _ = scope {
            answer = Swift.Result { () throws(BackendFailure) in try body() }
            return errSecSuccess
        }
        guard let answer else { throw Self.unexpectedResult }
        return try answer.get()
    }

    #if canImport(Darwin)

    package func hasSecureEnclave() throws(BackendFailure) -> Bool { SecureEnclave.isAvailable }

    private static let knownDefaultGroup = Mutex<String?>(nil)

    /// The group that an addition goes to which names none.
    ///
    /// The system says so of an item that was added and in no other way. One that is deleted at once
    /// is added for it, once in a process.
    private func defaultGroup() throws(BackendFailure) -> String {
        if let known = Self.knownDefaultGroup.withLock({ $0 }) { return known }
        let probe = ItemSelector(
            namespace: Namespace(service: "swift-keychain", isSynchronizable: false),
            account: UUID().uuidString)
        _ = try add(
            probe,
            ItemContents(
                data: Data(),
                accessibility: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String))
        let attributes = try attributes(probe)
        _ = try delete(probe)
        guard let group = attributes?.accessGroup else { throw Self.unexpectedResult }
        Self.knownDefaultGroup.withLock { $0 = group }
        return group
    }

    #else

    /// The group that an addition goes to which names none.
    private func defaultGroup() throws(BackendFailure) -> String? {
        try withFunctions { () throws(BackendFailure) -> String? in
            let answer = Swift.Result { () throws(KeychainFailure) in
                try KeychainContext.current().caller.defaultGroup
            }
            return try answer.mapError { BackendFailure($0) }.get()
        }
    }

    package func hasSecureEnclave() throws(BackendFailure) -> Bool {
        try withFunctions { () throws(BackendFailure) in try Self.currentHasSecureEnclave() }
    }

    private static func currentHasSecureEnclave() throws(BackendFailure) -> Bool {
        let answer = Swift.Result { () throws(KeychainFailure) in
            try KeychainContext.current().service.perform(HasSecureEnclave())
        }
        return try answer.mapError { BackendFailure($0) }.get()
    }

    #endif

    // MARK: Calls

    /// The status of a call and, where it can be learned, why it failed.
    private struct CallResult {
        var status: OSStatus
        var reason: String?
        var cause: KeychainFailure.Cause?
    }

    #if canImport(Darwin)

    private func call(_ function: () -> OSStatus) -> CallResult {
        CallResult(status: scope(function))
    }

    #else

    private func call(_ function: () -> OSStatus) -> CallResult {
        let recorder = FailureRecorder()
        let status = KeychainContext.$recorder.withValue(recorder) { scope(function) }
        // A reason belongs to its own status only.
        guard status != errSecSuccess, let failure = recorder.failure,
            failure.status.rawValue == status
        else { return CallResult(status: status) }
        return CallResult(
            status: status, reason: failure.reason, cause: failure.cause)
    }

    #endif

    // MARK: Answers

    /// What a search found. The object is nil for the secret of an item that has none.
    private struct Found {
        var object: CFTypeRef?
    }

    /// - Returns: nil if nothing matches.
    private func search(_ query: SecItemQuery.Dictionary) throws(BackendFailure) -> Found? {
        let query = query as CFDictionary
        var object: CFTypeRef?
        let result = call {
            // SAFETY: the pointer is used during the call only, and what is written through it
            // is owned by the variable.
            unsafe SecItemCopyMatching(query, &object)
        }
        return try Self.answer(result, no: errSecItemNotFound) ? Found(object: object) : nil
    }

    private static func change(_ result: CallResult, no: OSStatus) throws(BackendFailure) -> Bool {
        let isChanged = try answer(result, no: no)
        if isChanged { LocalChanges.shared.signal() }
        return isChanged
    }

    private static func answer(_ result: CallResult, no: OSStatus) throws(BackendFailure) -> Bool {
        switch result.status {
        case errSecSuccess: true
        case no: false
        default:
            throw BackendFailure(
                status: result.status, reason: result.reason, cause: result.cause)
        }
    }

    private static func attributes(
        _ dictionary: NSDictionary
    ) throws(BackendFailure) -> ItemSummary {
        guard let creationDate = dictionary[kSecAttrCreationDate] as? Date,
            let modificationDate = dictionary[kSecAttrModificationDate] as? Date,
            let accessible = dictionary[kSecAttrAccessible] as? String,
            let accessGroup = dictionary[kSecAttrAccessGroup] as? String,
            let reference = dictionary[kSecValuePersistentRef] as? Data
        else { throw unexpectedResult }
        return ItemSummary(
            account: text(dictionary[kSecAttrAccount]) ?? "",
            label: text(dictionary[kSecAttrLabel]),
            creationDate: creationDate, modificationDate: modificationDate,
            accessibility: accessible,
            isSynchronizable: (dictionary[kSecAttrSynchronizable] as? NSNumber)?.boolValue ?? false,
            accessGroup: accessGroup, persistentReference: reference)
    }

    /// Another program may have given a number or bytes where this API gives text.
    private static func text(_ value: Any?) -> String? {
        switch value {
        case let text as String: text
        case let data as Data: String(decoding: data, as: UTF8.self)
        case let number as NSNumber: number.stringValue
        default: nil
        }
    }

    private static let unexpectedResult = BackendFailure(
        status: errSecInternalComponent, reason: "The keychain gave a result of an unknown form.")
}
