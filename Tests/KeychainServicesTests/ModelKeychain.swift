// ModelKeychain: a model of the keychain's specified behavior. The model keeps its items in an
// array and writes nothing to disk. Tests compare the real keychain with the model.

import FoundationEssentials
import KeychainCore
import Synchronization

final class ModelKeychain: RequestHandler, RequestExecutor {
    enum LockState {
        case beforeFirstUnlock
        case locked
        case unlocked
    }

    fileprivate struct State {
        var items: [ItemSnapshot] = []
        var lockState = LockState.unlocked
        var hasPasscode = true
        var now = 700_000_000.0
    }

    private let state = Mutex(State())

    func set(_ lockState: LockState) {
        state.withLock { $0.lockState = lockState }
    }

    func setPasscode(_ isSet: Bool) {
        state.withLock {
            $0.hasPasscode = isSet
            if !isSet { $0.items.removeAll { $0.protection == .whenPasscodeSetThisDeviceOnly } }
        }
    }

    func add(_ new: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> ItemSnapshot {
        let group = try Self.writableGroup(new.accessGroup, caller)
        return try state.withLock { (state) throws(KeychainFailure) in
            try state.checkAvailable(new.protection)
            var item = ItemSnapshot(
                itemClass: new.itemClass, reference: .random(), attributes: new.attributes,
                accessGroup: group, protection: new.protection,
                constraints: new.constraints, isSynchronizable: new.isSynchronizable,
                isTombstone: new.isTombstone,
                hasData: new.data != nil, data: new.data)
            try state.makeRoom(for: item)
            state.now += 1
            item.attributes[.creationDate] = .date(state.now)
            item.attributes[.modificationDate] = .date(state.now)
            state.items.append(item)
            return item
        }
    }

    func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try Self.check(query, caller)
        return try state.withLock { (state) throws(KeychainFailure) in
            let matches = state.items.filter { Self.matches($0, query, caller) }
                .prefix(retrieval.limit ?? .max)
            if matches.isEmpty { throw .itemNotFound }
            for item in matches { try state.checkAvailable(item.protection) }
            return matches.map {
                var item = $0
                if !retrieval.includesData { item.data = nil }
                return item
            }
        }
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try Self.check(query, caller)
        let group: String? =
            if let named = changes.accessGroup {
                try Self.writableGroup(named, caller)
            } else { nil }
        return try state.withLock { (state) throws(KeychainFailure) in
            var copy = state
            let matches = state.items.filter { Self.matches($0, query, caller) }
            if matches.isEmpty { throw .itemNotFound }
            for old in matches {
                try copy.checkAvailable(old.protection)
                var new = old
                new.attributes.merge(changes.attributes) { $1 }
                copy.now += 1
                new.attributes[.modificationDate] = .date(copy.now)
                new.accessGroup = group ?? old.accessGroup
                new.protection = changes.protection ?? old.protection
                new.isSynchronizable = changes.isSynchronizable ?? old.isSynchronizable
                new.isTombstone = changes.isTombstone ?? old.isTombstone
                new.data = changes.data ?? old.data
                new.hasData = new.data != nil
                try copy.checkAvailable(new.protection)
                if PrimaryKey(of: new) != PrimaryKey(of: old) {
                    try copy.makeRoom(for: new)
                    if old.isSynchronizable, !old.isTombstone {
                        copy.items.append(Self.tombstone(of: old))
                    }
                }
                for index in copy.items.indices where copy.items[index].reference == old.reference {
                    copy.items[index] = new
                }
            }
            state = copy
            return matches.count
        }
    }

    func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try Self.check(query, caller)
        return try state.withLock { (state) throws(KeychainFailure) in
            let matches = state.items.filter { Self.matches($0, query, caller) }
            if matches.isEmpty { throw .itemNotFound }
            for item in matches {
                state.items.removeAll { $0.reference == item.reference }
                let leavesTombstone =
                    switch tombstones {
                    case .always: true
                    case .never: false
                    case .automatic: item.isSynchronizable && !item.isTombstone
                    }
                if leavesTombstone { state.items.append(Self.tombstone(of: item)) }
            }
            return matches.count
        }
    }

    // MARK: - Requests

    func execute(
        _ request: AddItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        try add(request.item, as: caller)
    }

    func execute(
        _ request: AddItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try addAll(request.items, as: caller)
    }

    func execute(
        _ request: FindItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try find(request.query, request.retrieval, as: caller)
    }

    func execute(
        _ request: UpdateItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try update(request.query, request.changes, as: caller)
    }

    func execute(
        _ request: PutItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        do {
            _ = try add(request.item, as: caller)
        } catch {
            guard error.status == .duplicateItem else { throw error }
            var query = request.query
            query.accessGroup =
                query.accessGroup ?? request.item.accessGroup ?? caller.defaultGroup
            _ = try update(query, request.changes, as: caller)
        }
        return Done()
    }

    func execute(
        _ request: DeleteItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try delete(request.query, tombstones: request.tombstones, as: caller)
    }

    func execute(
        _ request: FindIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        try search(request, as: caller)
    }

    func execute(
        _ request: UpdateIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try updateIdentities(request.query, request.changes, as: caller)
    }

    func execute(
        _ request: DeleteIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try deleteIdentities(request.query, tombstones: request.tombstones, as: caller)
    }

    func execute(
        _ request: HasPasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        state.withLock { $0.hasPasscode }
    }

    func execute(
        _ request: HasSecureEnclave, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        false
    }

    // MARK: - Identities

    func addAll(
        _ items: [NewItem], as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try orElseAsBefore { () throws(KeychainFailure) in
            var added: [ItemSnapshot] = []
            for item in items {
                let one =
                    item.keepsExisting
                    ? try addUnlessThere(item, as: caller) : try add(item, as: caller)
                added.append(one)
            }
            return added
        }
    }

    private func addUnlessThere(
        _ item: NewItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        do {
            return try add(item, as: caller)
        } catch {
            guard error.status == .duplicateItem else { throw error }
            return try there(item, caller)
        }
    }

    func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try orElseAsBefore { () throws(KeychainFailure) in
            let found = try search(
                FindIdentities(query, Retrieval(limit: nil)), as: caller)
            for identity in found {
                _ = try update(
                    Self.query(for: identity.certificate), changes.certificate, as: caller)
                _ = try update(Self.query(for: identity.key), changes.key, as: caller)
            }
            return found.count
        }
    }

    func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        let found = try search(
            FindIdentities(query, Retrieval(limit: nil)), as: caller)
        for identity in found {
            _ = try delete(
                Self.query(for: identity.certificate), tombstones: tombstones, as: caller)
        }
        for identity in found {
            let isNeeded = state.withLock { state in
                state.items.contains {
                    $0.itemClass == .certificate
                        && $0.attributes[.publicKeyHash]
                            == identity.key.attributes[.applicationLabel]
                }
            }
            if isNeeded { continue }
            _ = try delete(Self.query(for: identity.key), tombstones: tombstones, as: caller)
        }
        return found.count
    }

    private static func query(for item: ItemSnapshot) -> ItemQuery {
        ItemQuery(itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference)
    }

    /// The existing item that has the primary key of the new item.
    private func there(
        _ new: NewItem, _ caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        var attributes: Attributes = [:]
        for name in new.itemClass.primaryKey {
            attributes[name] = new.attributes[name] ?? .empty(of: name.kind)
        }
        let query = ItemQuery(
            itemClass: new.itemClass, attributes: attributes,
            accessGroup: try Self.writableGroup(new.accessGroup, caller),
            isSynchronizable: new.isSynchronizable)
        return try find(query, Retrieval(includesData: true), as: caller)[0]
    }

    /// Undoes all changes if `body` throws an error.
    private func orElseAsBefore<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let before = state.withLock { $0 }
        do {
            return try body()
        } catch {
            state.withLock { $0 = before }
            throw error
        }
    }

    // MARK: - Access

    private static func check(
        _ query: ItemQuery, _ caller: AccessGroups
    ) throws(KeychainFailure) {
        if let group = query.accessGroup, !caller.contains(group) {
            throw .missingEntitlement("The group is not the caller's.")
        }
    }

    private static func writableGroup(
        _ named: String?, _ caller: AccessGroups
    ) throws(KeychainFailure) -> String {
        guard let group = named ?? caller.defaultGroup, caller.canWrite(group) else {
            throw .missingEntitlement("The group is not the caller's.")
        }
        return group
    }

    // MARK: - Matching

    private static func matches(
        _ item: ItemSnapshot, _ query: ItemQuery, _ caller: AccessGroups
    ) -> Bool {
        guard item.itemClass == query.itemClass, caller.contains(item.accessGroup),
            query.accessGroup.map({ $0 == item.accessGroup }) ?? true,
            query.protection.map({ $0 == item.protection }) ?? true,
            query.isSynchronizable.map({ $0 == item.isSynchronizable }) ?? true,
            query.isTombstone == item.isTombstone,
            query.reference.map({ $0 == item.reference }) ?? true
        else { return false }
        for (attribute, value) in query.attributes {
            let present = item.attributes[attribute] ?? .empty(of: attribute.kind)
            guard present.isEqual(to: value) else { return false }
        }
        if let host = query.hostOrSubdomain {
            guard case .string(let server) = item.attributes[.server] else { return false }
            return server == host || server.hasSuffix("." + host)
        }
        return true
    }

    private static func tombstone(of item: ItemSnapshot) -> ItemSnapshot {
        var tombstone = item
        tombstone.reference = .random()
        tombstone.isTombstone = true
        tombstone.data = nil
        tombstone.hasData = false
        return tombstone
    }
}

extension ModelKeychain.State {
    fileprivate func checkAvailable(_ protection: ProtectionClass) throws(KeychainFailure) {
        let isAvailable =
            switch protection.availability {
            case .always: true
            case .afterFirstUnlock: lockState != .beforeFirstUnlock
            case .whileUnlocked: lockState == .unlocked
            }
        guard isAvailable else { throw .locked(protection) }
        if protection == .whenPasscodeSetThisDeviceOnly, !hasPasscode {
            throw KeychainFailure(.authFailed, "There is no passcode.")
        }
    }

    /// Removes a tombstone with the new item's primary key, or throws `duplicateItem` if another
    /// item has that key.
    fileprivate mutating func makeRoom(for new: ItemSnapshot) throws(KeychainFailure) {
        let key = PrimaryKey(of: new)
        for item in items where item.reference != new.reference && PrimaryKey(of: item) == key {
            guard item.isTombstone else { throw .duplicateItem }
        }
        items.removeAll { $0.reference != new.reference && PrimaryKey(of: $0) == key }
    }
}

/// The attributes that make an item unique.
private struct PrimaryKey: Hashable {
    let itemClass: ItemClass
    let accessGroup: String
    let isSynchronizable: Bool
    let values: [[UInt8]]

    init(of item: ItemSnapshot) {
        itemClass = item.itemClass
        accessGroup = item.accessGroup
        isSynchronizable = item.isSynchronizable
        values = itemClass.primaryKey.map {
            (item.attributes[$0] ?? .empty(of: $0.kind)).comparisonBytes
        }
    }
}
