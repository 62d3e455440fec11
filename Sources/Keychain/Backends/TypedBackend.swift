// TypedBackend: requests straight to the keychain service, without dictionaries.

#if !canImport(Darwin)

import Foundation
import KeychainAuthentication
import KeychainCore

/// Keeps the items in a keychain service.
struct TypedBackend: Backend {
    /// The service and the caller. Asked for at every request: the first one that succeeds
    /// opens the database.
    let connection: @Sendable () throws(KeychainFailure) -> KeychainConnection

    /// A keychain, in front of which the person is asked as in front of the SecItem functions.
    init(_ keychain: @escaping @Sendable () throws(KeychainFailure) -> KeychainConnection) {
        connection = { () throws(KeychainFailure) in
            try keychain().authenticating(AuthenticationOptions())
        }
    }

    func load(_ item: ItemSelector) throws(BackendFailure) -> Data? {
        let found = try first(item, includesData: true)
        return found.map { $0.data ?? Data() }
    }

    func loadVersion(_ item: ItemSelector) throws(BackendFailure) -> VersionedData? {
        guard let found = try first(item, includesData: true) else { return nil }
        return VersionedData(
            data: found.data ?? Data(), version: Self.seconds(found, .modificationDate))
    }

    func attributes(_ item: ItemSelector) throws(BackendFailure) -> ItemSummary? {
        try first(item, includesData: false).map(Self.attributes)
    }

    func list(_ namespace: Namespace) throws(BackendFailure) -> [ItemSummary] {
        do {
            let connection = try connection()
            let found = try connection.perform(FindItems(query(namespace), Retrieval(limit: nil)))
            return found.map(Self.attributes)
        } catch {
            if error.status == .itemNotFound { return [] }
            throw BackendFailure(error)
        }
    }

    func add(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool {
        let new = try newItem(item, contents)
        return try carryOut(no: .duplicateItem) { connection throws(KeychainFailure) in
            _ = try connection.perform(AddItem(new))
        }
    }

    func update(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool {
        let changes = try changes(contents)
        return try carryOut(no: .itemNotFound) { connection throws(KeychainFailure) in
            try connection.perform(UpdateItems(query(item), changes))
        }
    }

    func put(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool {
        let new = try newItem(item, contents)
        let changes = try changes(contents)
        return try carryOut(no: .itemNotFound) { connection throws(KeychainFailure) in
            try connection.perform(PutItem(new, orChange: query(item), changes))
        }
    }

    /// - Returns: False where it failed with the status that means "no".
    private func carryOut(
        no: Status, _ body: (KeychainConnection) throws(KeychainFailure) -> Void
    ) throws(BackendFailure) -> Bool {
        do {
            try body(try connection())
            return true
        } catch {
            if error.status == no { return false }
            throw BackendFailure(error)
        }
    }

    private func newItem(
        _ item: ItemSelector, _ contents: ItemContents
    ) throws(BackendFailure) -> NewItem {
        var attributes = query(item).attributes
        if let label = contents.label { attributes[.label] = .string(label) }
        return NewItem(
            itemClass: .genericPassword, attributes: attributes,
            accessGroup: item.namespace.accessGroup,
            protection: try protection(contents.accessibility),
            isSynchronizable: item.namespace.isSynchronizable, data: contents.data)
    }

    private func changes(_ contents: ItemContents) throws(BackendFailure) -> ItemChanges {
        var changes = ItemChanges(
            protection: try protection(contents.accessibility), data: contents.data)
        if let label = contents.label { changes.attributes[.label] = .string(label) }
        return changes
    }

    func delete(_ item: ItemSelector) throws(BackendFailure) -> Bool {
        try delete(query(item)) > 0
    }

    func deleteAll(_ namespace: Namespace) throws(BackendFailure) -> Int {
        try delete(query(namespace))
    }

    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(BackendFailure) -> any ChangeSubscription {
        do {
            return try connection().service.subscribe(handler)
        } catch {
            throw BackendFailure(error)
        }
    }

    // MARK: Keys in hardware

    func hasSecureEnclave() throws(BackendFailure) -> Bool {
        do {
            return try connection().service.perform(HasSecureEnclave())
        } catch {
            throw BackendFailure(error)
        }
    }

    // MARK: Requests

    private func query(_ item: ItemSelector) -> ItemQuery {
        var query = query(item.namespace)
        query.attributes[.account] = .string(item.account)
        if let version = item.version { query.attributes[.modificationDate] = .date(version) }
        return query
    }

    private func query(_ namespace: Namespace) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword, attributes: [.service: .string(namespace.service)],
            accessGroup: namespace.accessGroup, isSynchronizable: namespace.isSynchronizable)
    }

    func protection(_ accessibility: String) throws(BackendFailure) -> ProtectionClass {
        guard let protection = ProtectionClass(code: accessibility) else {
            throw BackendFailure(
                status: Status.param.rawValue, reason: "There is no such accessibility.")
        }
        return protection
    }

    private func first(
        _ item: ItemSelector, includesData: Bool
    ) throws(BackendFailure) -> ItemSnapshot? {
        do {
            let connection = try connection()
            return try connection.perform(
                FindItems(query(item), Retrieval(includesData: includesData))
            ).first
        } catch {
            if error.status == .itemNotFound { return nil }
            throw BackendFailure(error)
        }
    }

    private func delete(_ query: ItemQuery) throws(BackendFailure) -> Int {
        do {
            let connection = try connection()
            return try connection.perform(DeleteItems(query, tombstones: .automatic))
        } catch {
            if error.status == .itemNotFound { return 0 }
            throw BackendFailure(error)
        }
    }

    // MARK: Answers

    private static func attributes(_ item: ItemSnapshot) -> ItemSummary {
        ItemSummary(
            account: text(item.attributes[.account]) ?? "",
            label: text(item.attributes[.label]),
            creationDate: Date(timeIntervalSinceReferenceDate: seconds(item, .creationDate)),
            modificationDate: Date(
                timeIntervalSinceReferenceDate: seconds(item, .modificationDate)),
            accessibility: item.protection.code,
            isSynchronizable: item.isSynchronizable, accessGroup: item.accessGroup,
            persistentReference: Data(Array(item.itemClass.name.utf8) + item.reference.bytes))
    }

    private static func seconds(_ item: ItemSnapshot, _ attribute: Attribute) -> Double {
        guard case .date(let seconds) = item.attributes[attribute] else { return 0 }
        return seconds
    }

    /// Another program may have given a number or bytes where this API gives text.
    private static func text(_ value: AttributeValue?) -> String? {
        switch value {
        case .string(let text): text
        case .data(let data): String(decoding: data, as: UTF8.self)
        case .number(let number): String(number)
        case .date, nil: nil
        }
    }
}

#endif
