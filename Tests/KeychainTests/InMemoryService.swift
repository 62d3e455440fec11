// InMemoryService: the semantics of a keychain service that this API relies on, and no storage.

import Foundation
import KeychainModel
import Synchronization

final class InMemoryService: KeychainService {
    private struct State {
        var items: [Item] = []
        var isLocked = false
        var clock = 700_000_000.0
    }

    private let state = Mutex(State())

    func setLocked(_ isLocked: Bool) {
        state.withLock { $0.isLocked = isLocked }
    }

    func add(_ item: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> Item {
        try state.withLock { state throws(KeychainFailure) in
            try Self.check(item.protection, state)
            let group = try Self.group(item.accessGroup, caller)
            var attributes = item.attributes
            attributes[.creationDate] = .date(state.clock)
            attributes[.modificationDate] = .date(state.clock)
            let new = Item(
                itemClass: item.itemClass, reference: .random(), attributes: attributes,
                accessGroup: group, protection: item.protection,
                isSynchronizable: item.isSynchronizable, isTombstone: false,
                hasData: item.data != nil, data: item.data)
            guard !state.items.contains(where: { Self.key($0) == Self.key(new) }) else {
                throw .duplicateItem
            }
            state.items.append(new)
            return new
        }
    }

    func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        try state.withLock { state throws(KeychainFailure) in
            let matches = try Self.matches(query, caller, state)
                .prefix(retrieval.limit ?? .max)
            for index in matches { try Self.check(state.items[index].protection, state) }
            return matches.map { index in
                var item = state.items[index]
                if !retrieval.includesData { item.data = nil }
                return item
            }
        }
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try state.withLock { state throws(KeychainFailure) in
            let matches = try Self.matches(query, caller, state)
            for index in matches { try Self.check(state.items[index].protection, state) }
            try Self.check(changes.protection ?? .always, state)
            for index in matches {
                var item = state.items[index]
                item.attributes.merge(changes.attributes) { _, new in new }
                if let protection = changes.protection { item.protection = protection }
                if let data = changes.data { item.data = data }
                if case .date(let old) = item.attributes[.modificationDate] {
                    item.attributes[.modificationDate] = .date(max(state.clock, old + 0.001))
                }
                state.items[index] = item
            }
            return matches.count
        }
    }

    func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try state.withLock { state throws(KeychainFailure) in
            let matches = try Self.matches(query, caller, state)
            for index in matches.reversed() { state.items.remove(at: index) }
            return matches.count
        }
    }

    private static func check(
        _ protection: ProtectionClass, _ state: State
    ) throws(KeychainFailure) {
        if state.isLocked && protection.availability == .whileUnlocked {
            throw .locked(protection)
        }
    }

    private static func group(
        _ name: String?, _ caller: AccessGroups
    ) throws(KeychainFailure) -> String {
        guard let group = name ?? caller.defaultGroup, caller.canWrite(group) else {
            throw .missingEntitlement("The caller may not use this access group.")
        }
        return group
    }

    private static func matches(
        _ query: ItemQuery, _ caller: AccessGroups, _ state: State
    ) throws(KeychainFailure) -> [Int] {
        if let group = query.accessGroup { _ = try Self.group(group, caller) }
        let matches = state.items.indices.filter { index in
            let item = state.items[index]
            return item.itemClass == query.itemClass
                && (query.accessGroup.map { $0 == item.accessGroup }
                    ?? caller.contains(item.accessGroup))
                && (query.isSynchronizable.map { $0 == item.isSynchronizable } ?? true)
                && query.attributes.allSatisfy { name, value in
                    item.attributes[name]?.isEqual(to: value) ?? false
                }
        }
        guard !matches.isEmpty else { throw .itemNotFound }
        return matches
    }

    private static func key(_ item: Item) -> [[UInt8]] {
        [
            item.attributes[.service]?.comparisonBytes ?? [],
            item.attributes[.account]?.comparisonBytes ?? [],
            Array(item.accessGroup.utf8), [item.isSynchronizable ? 1 : 0],
        ]
    }
}
