// ContentsSequence: an asynchronous sequence of the changes to the items of a keychain.

import Foundation
import KeychainCore

extension Keychain {
    /// Returns a sequence that follows the items of this keychain, as `items()` lists them: those
    /// of its service or server in its access group or, if it has none, in all of the program's
    /// groups. No secret is read.
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
    /// - The first element contains the existing items, or the reason that they can't be listed,
    ///   and no changes.
    /// - After a change, the next element contains all items and their differences from the
    ///   previous element. Changes that occur faster than the elements are consumed are coalesced:
    ///   an item that was added and deleted in between is not reported. The final state is always
    ///   reported. A slow consumer never blocks a writer, and uses memory for one list only.
    /// - Saving a value that equals the existing one counts as an update.
    /// - While the items can't be listed, because one of them is locked or the keychain is damaged,
    ///   one element reports the error, and another one follows whenever the code of the error
    ///   changes. Once the items can be listed again, an element follows with the changes made in
    ///   the meantime, even if there were none.
    /// - The sequence ends only when its task is canceled.
    ///
    /// On Linux, the sequence reports the changes of all processes. Apple platforms provide no
    /// change notifications. There, the sequence reports the changes that this process makes with
    /// this package; a lock, or a change by another process, is noticed only at the next change
    /// that this process makes. On all platforms, a failed listing is repeated every two seconds.
    ///
    /// Each change of the database that is noticed, even if it affects other items only, causes a
    /// listing of this keychain's items. Each iteration is independent, and nothing is opened or
    /// read before it begins.
    ///
    /// - Returns: A sequence that can be iterated any number of times.
    ///
    /// Apple's API has no corresponding call.
    public func changes() -> ContentsSequence {
        ContentsSequence(keychain: self)
    }

    /// The sequence that `changes()` returns.
    public struct ContentsSequence: AsyncSequence, Sendable {
        /// The items and their changes.
        public typealias Element = Contents
        /// Errors are reported in the elements. The sequence itself never throws.
        public typealias Failure = Never

        let keychain: Keychain

        /// Returns an iterator whose first element contains the existing items if they can be
        /// listed.
        public func makeAsyncIterator() -> Iterator {
            Iterator(keychain: keychain)
        }

        /// An iterator. It follows the items until it is released or its task is canceled.
        public struct Iterator: AsyncIteratorProtocol {
            private let follower: ChangeFollower
            private var reader: ContentsReader

            fileprivate init(keychain: Keychain) {
                follower = ChangeFollower(keychain.database)
                reader = ContentsReader(keychain: keychain)
            }

            /// Waits for the next element.
            ///
            /// - Returns: The items and changes, or `nil` if the task was canceled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Contents? {
                while await follower.wait() {
                    let (contents, next) = await Self.read(reader, follower)
                    reader = next
                    if let contents { return contents }
                }
                return nil
            }

            /// Waits for the next element.
            ///
            /// - Returns: The items and changes, or `nil` if the task was canceled.
            public mutating func next() async -> Contents? {
                await next(isolation: nil)
            }

            /// Reads the items. If the task is canceled before the read starts, nothing is read and
            /// the next wait ends the sequence.
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

/// Lists the items repeatedly, and compares each list with the one before.
struct ContentsReader: Sendable {
    let keychain: Keychain
    /// The items by reference, or `nil` before the first successful listing.
    private var items: [Data: Keychain.Item]?
    private var error: KeychainError?
    private var hasGiven = false

    init(keychain: Keychain) {
        self.keychain = keychain
    }

    /// Lists the items. May block.
    ///
    /// - Returns: The items and their changes, or `nil` if nothing is new.
    mutating func read(_ follower: ChangeFollower) -> Keychain.Contents? {
        do {
            return accept(try list(follower))
        } catch {
            follower.retryLater()
            return accept(KeychainError(error, .list, keychain.service, nil))
        }
    }

    private func list(_ follower: ChangeFollower) throws(KeychainFailure) -> [Keychain.Item] {
        // Subscribe first, so that a change during the listing is followed by another listing.
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
