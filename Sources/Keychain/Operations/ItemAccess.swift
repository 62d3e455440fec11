// ItemAccess: one operation on one item. The request is made here, and what it fails with becomes a
// KeychainError.

import Foundation
import KeychainAuthentication
import KeychainCore

/// An operation on an item: what it is, on which item, and where that is kept.
struct ItemAccess: Sendable {
    let operation: KeychainError.Operation
    /// Class, primary key and, where it is named, access group. With a modification date, that
    /// version of the item alone.
    private(set) var item: ItemQuery
    private(set) var database: KeychainDatabase

    init(operation: KeychainError.Operation, item: ItemQuery, database: KeychainDatabase) {
        self.operation = operation
        self.item = item
        self.database = database
    }

    /// The same of the item in one group.
    func inGroup(_ group: String) -> ItemAccess {
        var access = self
        access.item.accessGroup = group
        return access
    }

    /// The same of one version: that with this modification date.
    func ofVersion(_ date: AttributeValue?) -> ItemAccess {
        var access = self
        access.item.attributes[.modificationDate] = date
        return access
    }

    // MARK: Requests

    /// - Returns: The item, with its secret where it is asked for and there is one; nil if there is
    ///   no such item.
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

    /// - Returns: The secret, empty for an item without one; nil if there is no such item.
    func load() throws(KeychainError) -> Data? {
        try find(includesData: true, includesAttributes: false)?.secret
    }

    /// - Returns: The attributes; nil if there is no such item. No secret is read.
    func attributes() throws(KeychainError) -> Keychain.Item? {
        try find(includesData: false).map { Keychain.Item($0) }
    }

    /// Whether nothing has to be shown for the secret, as the keychain has it: no person is asked, and
    /// no context answers.
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

    /// - Returns: Whether the item was added; false if there is one already.
    func add(_ contents: ItemChanges) throws(KeychainError) -> Bool {
        try change(AddItem(newItem(contents)), no: .duplicateItem)
    }

    /// Changes the item in place: it keeps its reference and creation date.
    /// - Returns: Whether there was such an item.
    func update(_ contents: ItemChanges) throws(KeychainError) -> Bool {
        try change(
            UpdateItems(item, contents, keepsVersions: database.keepsVersions), no: .itemNotFound)
    }

    /// - Returns: Whether there was such an item.
    func delete() throws(KeychainError) -> Bool {
        try change(
            DeleteItems(item, tombstones: .automatic, keepsVersions: database.keepsVersions),
            no: .itemNotFound)
    }

    /// Adds the item, or changes it in place: in the access group that the addition is to, that one
    /// alone.
    func put(_ contents: ItemChanges) throws(KeychainError) {
        defer { ChangeCount.note() }
        let request = PutItem(
            newItem(contents), orChange: item, contents, keepsVersions: database.keepsVersions)
        // Someone else may delete the item after the addition was refused, and add it again
        // before the next one. No one does so for long.
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

    /// Carries out a change.
    /// - Returns: False where it failed with the status that means "no".
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

    /// The item with these contents, in the default group unless one is named.
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

    /// Puts new contents in the place of the version that was found.
    ///
    /// - Parameters:
    ///   - present: What was found. nil: there was none.
    ///   - contents: What to store. nil: nothing.
    /// - Returns: Whether that version was still the present one.
    /// - Throws: What the keychain reports.
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

    /// Changes the version that was found, also if its secret stays the same.
    ///
    /// - Returns: Whether that version was still the present one.
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
        // Apple documents the two as incompatible and does not everywhere refuse them.
        if keychain.isSynchronizable && accessibility.isThisDeviceOnly {
            throw failed(.param("A synchronizable item can't be kept to this device."))
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

    /// How often an addition or change is tried that others undo meanwhile.
    static var attemptLimit: Int { 100 }

    /// An addition was refused since the item is there, and a change since it isn't.
    var unsettled: KeychainError {
        failed(KeychainFailure(.duplicateItem, "The item can be neither added nor changed."))
    }

    /// What the item belongs to.
    var service: String? { item.attributes[item.itemClass.firstKey]?.text }

    var account: String? { item.attributes[.account]?.text }

    func failed(_ failure: KeychainFailure) -> KeychainError {
        KeychainError(failure, operation, service, account)
    }
}

extension ItemSnapshot {
    /// What was asked for as data; empty for an item without.
    var secret: Data { data ?? Data() }
}

extension AttributeValue {
    /// The value as text. Another program may have given a number or bytes where this API gives text.
    var text: String? {
        switch self {
        case .string(let text): text
        case .data(let data): String(decoding: data, as: UTF8.self)
        case .number(let number): String(number)
        case .date: nil
        }
    }

    /// The value as a moment.
    var date: Date? {
        guard case .date(let seconds) = self else { return nil }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }
}
