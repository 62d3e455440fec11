// Backend: the one border between the Swift API and whatever keeps the items.
//   (1) A request is typed; an expected answer (absent, not matched) is a value, not an error.
//   (2) Statuses leave a backend as numbers, unchanged.

import Foundation
import KeychainModel

/// The items of a keychain: what all requests of one ``Keychain`` have in common.
struct Namespace: Hashable, Sendable {
    var service: String
    /// nil: the default group for an addition and for ``Backend/put(_:_:)``, all groups of the program
    /// for anything else.
    var accessGroup: String?
    var isSynchronizable: Bool
}

/// An item, or one version of it.
struct ItemSelector: Hashable, Sendable {
    var namespace: Namespace
    var account: String
    /// The modification date that the item must have, in seconds since 2001. nil: any.
    var version: Double?
}

/// A secret and the modification date under which it was found.
struct VersionedData: Hashable, Sendable {
    var data: Data
    /// Seconds since 2001-01-01 00:00:00 UTC, as stored: not rounded.
    var version: Double
}

/// What is to be stored.
struct ItemContents: Hashable, Sendable {
    var data: Data
    var label: String?
    var accessibility: Keychain.Accessibility
}

/// Why a backend did not do what it was asked.
struct BackendFailure: Error, Hashable, Sendable {
    var status: Int32
    /// A sentence for people that holds no attribute's value and no secret, where there is one.
    var reason: String?
    /// What is known of the cause. nil: no more than the status says.
    var cause: KeychainError.Cause?
}

/// Keeps the items.
///
/// Every method may block, and is safe to call from many threads at once. One that throws has
/// changed nothing, unless the cause is an interruption.
protocol Backend: Sendable {
    /// - Returns: The secret, empty for an item without one; nil if there is no such item.
    func load(_ item: ItemSelector) throws(BackendFailure) -> Data?

    /// The secret together with the modification date; nil if there is no such item.
    func loadVersion(_ item: ItemSelector) throws(BackendFailure) -> VersionedData?

    /// The attributes; nil if there is no such item. No secret is read.
    func attributes(_ item: ItemSelector) throws(BackendFailure) -> Keychain.Item?

    /// The attributes of all items, in no particular order. No secret is read.
    func list(_ namespace: Namespace) throws(BackendFailure) -> [Keychain.Item]

    /// - Returns: Whether the item was added; false if there is one already.
    func add(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool

    /// Changes an item in place: it keeps its reference and creation date.
    /// - Returns: Whether there was such an item.
    func update(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool

    /// Adds the item, or changes it in place: in the access group that the addition is to, that one
    /// alone.
    /// - Returns: False where neither could be done, since others deleted and added it meanwhile.
    func put(_ item: ItemSelector, _ contents: ItemContents) throws(BackendFailure) -> Bool

    /// - Returns: Whether there was such an item.
    func delete(_ item: ItemSelector) throws(BackendFailure) -> Bool

    /// Deletes all items or, if it throws, none.
    /// - Returns: How many.
    func deleteAll(_ namespace: Namespace) throws(BackendFailure) -> Int

    /// Whether there is hardware for keys.
    func hasSecureEnclave() throws(BackendFailure) -> Bool

    /// Runs the functions of Apple's names on these items' keychain.
    func withFunctions<Result>(
        _ body: () throws(BackendFailure) -> Result
    ) throws(BackendFailure) -> Result

    /// Calls `handler` after later changes, as far as they are told of. It must not block.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(BackendFailure) -> any ChangeSubscription
}
