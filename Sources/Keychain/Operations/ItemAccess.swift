// ItemAccess: performs one operation on one item. It builds the request and converts a failure to a
// KeychainError.

import Foundation
import KeychainAuthentication
import KeychainCore

/// The kind of operation, the item that it applies to, and the database with the item.
struct ItemAccess: Sendable {
    let operation: KeychainError.Operation
    /// The item's class, primary key and, if specified, access group. If this query contains a
    /// modification date, it matches only the version of the item with that date.
    private(set) var item: ItemQuery
    private(set) var database: KeychainDatabase

    init(operation: KeychainError.Operation, item: ItemQuery, database: KeychainDatabase) {
        self.operation = operation
        self.item = item
        self.database = database
    }

    /// The same operation, restricted to the item in one access group.
    func inGroup(_ group: String) -> ItemAccess {
        var access = self
        access.item.accessGroup = group
        return access
    }

    /// The same operation with one context, so that several requests ask the user only once.
    var inOneContext: ItemAccess {
        var access = self
        access.database.authentication.context = database.authentication.makeContext()
        return access
    }

    /// The same operation, restricted to the version of the item with this modification date.
    func ofVersion(_ date: AttributeValue?) -> ItemAccess {
        var access = self
        access.item.attributes[.modificationDate] = date
        return access
    }

    // MARK: Requests

    /// - Returns: The item, including its secret if `includesData` is set and the item has one;
    ///   `nil` if the item does not exist.
    func find(
        includesData: Bool, includesAttributes: Bool = true
    ) throws(KeychainError) -> ItemSnapshot? {
        do throws(KeychainFailure) {
            let connection = try database.connection()
            return try connection.handler.perform(
                FindItems(
                    item,
                    Retrieval(includesData: includesData, includesAttributes: includesAttributes)),
                as: connection.caller
            ).first
        } catch {
            if error.status == .itemNotFound { return nil }
            throw failed(error)
        }
    }

    /// - Returns: The secret, which is empty if the item has none; `nil` if the item does not
    ///   exist.
    func load() throws(KeychainError) -> Data? {
        try find(includesData: true, includesAttributes: false)?.secret
    }

    /// - Returns: The attributes, or `nil` if the item does not exist. No secret is read.
    func attributes() throws(KeychainError) -> Keychain.Item? {
        try find(includesData: false).map { Keychain.Item($0) }
    }

    /// Determines whether the keychain opens the secret without any authentication, by loading it
    /// with no context and with user interaction forbidden.
    func opensForAnyone() throws(KeychainError) -> Bool {
        var access = self
        access.database.authentication = AuthenticationOptions()
        access.database.authentication.allowsQuestions = false
        do {
            _ = try access.find(includesData: true)
            return true
        } catch {
            guard [.interactionNotAllowed, .authFailed].contains(error.code) else { throw error }
            return false
        }
    }

    /// - Returns: `true` if the item was added; `false` if it already exists.
    func add(_ contents: ItemChanges) throws(KeychainError) -> Bool {
        try change(AddItem(newItem(contents)), no: .duplicateItem)
    }

    /// Changes the item in place, so that it keeps its reference and creation date.
    /// - Returns: `true` if the item existed.
    func update(_ contents: ItemChanges) throws(KeychainError) -> Bool {
        try change(
            UpdateItems(item, contents, keepsVersions: database.keepsVersions), no: .itemNotFound)
    }

    /// - Returns: `true` if the item existed.
    func delete() throws(KeychainError) -> Bool {
        try change(
            DeleteItems(item, tombstones: .automatic, keepsVersions: database.keepsVersions),
            no: .itemNotFound)
    }

    /// Adds the item or, if it exists in the access group that it would be added to, changes it in
    /// place. Items in other access groups are not changed.
    func put(_ contents: ItemChanges) throws(KeychainError) {
        defer { ChangeCount.note() }
        let request = PutItem(
            newItem(contents), orChange: item, contents, keepsVersions: database.keepsVersions)
        // Another thread or process may delete the item after the addition was refused, and add it
        // again before the next attempt. That can't plausibly continue for 100 attempts.
        for _ in 0..<Self.attemptLimit {
            do throws(KeychainFailure) {
                let connection = try database.connection()
                try connection.handler.perform(request, as: connection.caller)
                return
            } catch {
                guard error.status == .itemNotFound else { throw failed(error) }
            }
        }
        throw unsettled
    }

    /// Performs a change.
    /// - Returns: `false` if the change failed with the status `no`.
    private func change<R: Request>(
        _ request: R, no: Status
    ) throws(KeychainError) -> Bool {
        defer { ChangeCount.note() }
        do throws(KeychainFailure) {
            let connection = try database.connection()
            _ = try connection.handler.perform(request, as: connection.caller)
            return true
        } catch {
            if error.status == no { return false }
            throw failed(error)
        }
    }

    /// A new item with these contents, in the default group unless `item` specifies a group.
    private func newItem(_ contents: ItemChanges) -> NewItem {
        NewItem(
            itemClass: item.itemClass,
            attributes: item.attributes.merging(contents.attributes) { _, new in new },
            accessGroup: item.accessGroup,
            protection: contents.protection ?? .whenUnlocked,
            constraints: contents.constraints ?? [],
            isSynchronizable: item.isSynchronizable ?? false, data: contents.data)
    }

    // MARK: Versions

    /// Gives the item new contents if it is still in the version that was found. If the new secret
    /// equals the one that was found, nothing is changed and the version is not checked.
    ///
    /// - Parameters:
    ///   - present: The item as found, or `nil` if there was none.
    ///   - contents: The new contents, or `nil` to delete the item.
    /// - Returns: `false` if the version that was found is not the current one any more.
    /// - Throws: The error of the keychain.
    func replace(
        _ present: ItemSnapshot?, _ contents: ItemChanges?
    ) throws(KeychainError) -> Bool {
        switch (present, contents) {
        case (nil, nil): return true
        case (nil, let new?): return try add(new)
        case (let old?, nil): return try version(old).delete()
        case (let old?, let new?):
            if old.secret == new.data { return true }
            return try version(old).update(new)
        }
    }

    /// Changes the item if it is still in the version that was found, even if its secret stays the
    /// same.
    ///
    /// - Returns: `false` if the version that was found is not the current one any more.
    func change(
        _ present: ItemSnapshot, _ contents: ItemChanges
    ) throws(KeychainError) -> Bool {
        try version(present).update(contents)
    }

    private func version(_ found: ItemSnapshot) -> ItemAccess {
        ofVersion(found.attributes[.modificationDate])
    }

    // MARK: Values

    func decode<Value>(_ data: Data, _ key: KeychainKey<Value>) throws(KeychainError) -> Value {
        do {
            return try key.decode(data)
        } catch {
            throw KeychainError.decoding(error, data, self)
        }
    }

    func encode<Value>(
        _ value: Value, _ key: KeychainKey<Value>, in keychain: Keychain
    ) throws(KeychainError) -> ItemChanges {
        let accessibility = key.accessibility ?? keychain.accessibility
        // Apple documents that a synchronizable item can't have an accessibility for this device
        // only, but its implementation does not always reject the combination.
        if keychain.isSynchronizable && accessibility.isThisDeviceOnly {
            throw failed(.param("A synchronizable item can't be restricted to this device."))
        }
        if keychain.isSynchronizable && key.accessControl != nil {
            throw failed(.param("A synchronizable item can't have an access control."))
        }
        var contents = ItemChanges()
        contents.constraints = key.accessControl?.constraints
        if let label = key.label { contents.attributes[.label] = .string(label) }
        contents.protection = accessibility.protection
        do {
            contents.data = try key.encode(value)
        } catch {
            throw KeychainError.encoding(error, self)
        }
        return contents
    }

    // MARK: Errors

    /// The maximum number of attempts at an operation that fails because of concurrent changes.
    /// `StallGuard` permits more attempts if the item changes in between: it counts only
    /// consecutive attempts that found the same version, after the first of them.
    static var attemptLimit: Int { 100 }

    /// The error after the last attempt: additions failed because the item existed, and changes
    /// because the item, or the version that they are based on, was not found.
    var unsettled: KeychainError {
        failed(
            KeychainFailure(
                .duplicateItem,
                "The item could be neither added nor changed, despite repeated attempts."))
    }

    /// The service or server host that the item belongs to.
    var service: String? { item.attributes[item.itemClass.firstKey]?.text }

    var account: String? { item.attributes[.account]?.text }

    func failed(_ failure: KeychainFailure) -> KeychainError {
        KeychainError(failure, operation, service, account)
    }
}

extension ItemSnapshot {
    /// The secret that was requested; empty if the item has none.
    var secret: Data { data ?? Data() }
}

extension AttributeValue {
    /// The value as text. Another program may have stored a number or bytes where this API stores
    /// text.
    var text: String? {
        switch self {
        case .string(let text): text
        case .data(let data): String(decoding: data, as: UTF8.self)
        case .number(let number): String(number)
        case .date: nil
        }
    }

    /// The value as a date.
    var date: Date? {
        guard case .date(let seconds) = self else { return nil }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }
}
