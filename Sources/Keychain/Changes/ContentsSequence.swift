// ContentsSequence: the sequence of what becomes of the items of a keychain.

import Foundation
import KeychainCore

extension Keychain {
    /// What becomes of the items of this keychain, from now on: those of its service, in its
    /// access group. No secret is read.
    ///
    /// ```swift
    /// for await contents in keychain.changes() {
    ///     for change in contents.changes {
    ///         print(change.kind, change.account)
    ///     }
    ///     show(contents.items)
    /// }
    /// ```
    ///
    /// - The first element holds the items that are there, and no changes.
    /// - After a change an element with the new items follows, and with what is different from
    ///   the element before. Changes that come faster than the elements are taken are merged: an
    ///   item that was added and deleted in between isn't seen. The last state always comes. A
    ///   slow consumer holds up no writer, and costs the memory of one list.
    /// - A save of the value that was there is an update too.
    /// - While the items can't be listed, as one of them is locked or the keychain is damaged, one
    ///   element says so for each reason. Once they can be listed again, an element follows with
    ///   all changes that were made meanwhile, also if there are none.
    /// - The sequence ends when its task is cancelled, and never otherwise.
    ///
    /// On Linux changes are those of every process. The system of Apple platforms tells of none:
    /// there the elements follow the changes that this process makes with this package, and a
    /// lock or another process's change is seen along with the next of these. Everywhere, items
    /// that can't be listed are tried again every two seconds.
    ///
    /// Each change of the database, also by other programs, costs a listing of this keychain's
    /// items. Each iteration follows by itself, and nothing is opened or read before it begins.
    ///
    /// - Returns: A sequence that can be iterated any number of times.
    ///
    /// There is no corresponding call in Apple's API.
    public func changes() -> ContentsSequence {
        ContentsSequence(keychain: self)
    }

    /// The sequence that `changes()` gives.
    public struct ContentsSequence: AsyncSequence, Sendable {
        /// The items and their changes.
        public typealias Element = Contents
        /// What goes wrong is in the elements; the sequence itself doesn't fail.
        public typealias Failure = Never

        let keychain: Keychain

        /// An iterator whose first element holds the items that are there.
        public func makeAsyncIterator() -> Iterator {
            Iterator(keychain: keychain)
        }

        /// Follows the items while it exists.
        public struct Iterator: AsyncIteratorProtocol {
            private let follower: ChangeFollower
            private var reader: ContentsReader

            fileprivate init(keychain: Keychain) {
                follower = ChangeFollower(keychain.database)
                reader = ContentsReader(keychain: keychain)
            }

            /// The next items and their changes.
            ///
            /// - Returns: They; nil once the task was cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Contents? {
                while await follower.wait() {
                    let (contents, next) = await Self.read(reader, follower)
                    reader = next
                    if let contents { return contents }
                }
                return nil
            }

            /// The next items and their changes.
            ///
            /// - Returns: They; nil once the task was cancelled.
            public mutating func next() async -> Contents? {
                await next(isolation: nil)
            }

            /// A cancelled task reads nothing; the wait that follows ends then.
            private static func read(
                _ reader: ContentsReader, _ follower: ChangeFollower
            ) async -> (Contents?, ContentsReader) {
                let result = try? await BlockingPool.shared.run {
                    var reader = reader
                    let contents = reader.read(follower)
                    return (contents, reader)
                }
                return result ?? (nil, reader)
            }
        }
    }
}

/// Lists the items again and again, and gives what differs.
struct ContentsReader: Sendable {
    let keychain: Keychain
    /// By reference. nil: they were never listed.
    private var items: [Data: Keychain.Item]?
    private var error: KeychainError?
    private var hasGiven = false

    init(keychain: Keychain) {
        self.keychain = keychain
    }

    /// Lists the items; may block.
    ///
    /// - Returns: The items and their changes; nil if there is nothing new.
    mutating func read(_ follower: ChangeFollower) -> Keychain.Contents? {
        do {
            return accept(try list(follower))
        } catch {
            follower.retryLater()
            return accept(KeychainError(error, .list, keychain.service, nil))
        }
    }

    private func list(_ follower: ChangeFollower) throws(KeychainFailure) -> [Keychain.Item] {
        // First: a change after this raises the flag again.
        try follower.subscribe()
        return try keychain.list()
    }

    private mutating func accept(_ list: [Keychain.Item]) -> Keychain.Contents? {
        var new: [Data: Keychain.Item] = [:]
        for item in list { new[item.persistentReference] = item }
        let changes = items.map { Keychain.Change.changes(from: $0, to: new) } ?? []
        guard !hasGiven || error != nil || !changes.isEmpty else { return nil }
        items = new
        error = nil
        return contents(changes)
    }

    private mutating func accept(_ failure: KeychainError) -> Keychain.Contents? {
        if let error, error.code == failure.code { return nil }
        error = failure
        return contents([])
    }

    private mutating func contents(_ changes: [Keychain.Change]) -> Keychain.Contents {
        hasGiven = true
        let sorted = (items ?? [:]).values.sorted {
            ($0.account, $0.creationDate) < ($1.account, $1.creationDate)
        }
        return Keychain.Contents(items: sorted, changes: changes, error: error)
    }
}
