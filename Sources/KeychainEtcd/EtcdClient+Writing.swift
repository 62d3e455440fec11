// EtcdClient+Writing: transactions, and what is made of them.
//   (1) A transaction is carried out once or not at all. If a try had no answer, the next tries are
//       the same transaction: its comparisons fail if the first was carried out.
//   (2) Then the client sees by the keys that it was: each has the value that this transaction gives
//       it, all of one revision, and what it deletes is gone. So a value should be that of one
//       transaction only, as signed and encrypted ones are. Otherwise two that put the same may both
//       count as successful, as may two that delete the same.
//   (3) If another writer replaced such a value before the next try, the transaction counts as
//       failed, with the items as they are now. Nothing is lost: the caller decides again and
//       compares with those.
//   (4) A try without an answer may be carried out late, as long as its comparisons hold. For the
//       revision of a change they never hold again; for a version or a key's absence they may, once
//       the key is deleted.

#if Synchronization

/// What a transaction asks of a key before it changes anything.
package struct EtcdComparison: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// The revision of the key's last change. 0: there is no such key.
        case modRevision(Int64)
        /// The number of changes since it was created. 0: there is no such key.
        case version(Int64)
        /// The revision at which it was created. 0: there is no such key.
        case createRevision(Int64)
    }

    package let key: EtcdKey
    package let target: Target

    package init(_ key: EtcdKey, _ target: Target) { (self.key, self.target) = (key, target) }

    package static func isAbsent(_ key: EtcdKey) -> Self { Self(key, .modRevision(0)) }

    /// Whether it can't hold any more once the key was changed.
    fileprivate var endsWithChange: Bool {
        switch target {
        case .modRevision, .version, .createRevision(0): true
        case .createRevision: false
        }
    }
}

/// A change in a transaction, of one key.
package enum EtcdChange: Hashable, Sendable {
    case put(EtcdKey, [UInt8])
    case delete(EtcdKey)

    package var key: EtcdKey {
        switch self {
        case .put(let key, _), .delete(let key): key
        }
    }
}

/// What came of a transaction.
package struct EtcdOutcome: Hashable, Sendable {
    /// Whether the comparisons held, and so the changes were made.
    package let succeeded: Bool
    /// At which they were made; or, if they were not, at which the keys were read.
    package let revision: Int64
    /// If they were not made, the items of the keys that were asked for; nil: there is no such key.
    package let items: [EtcdItem?]
}

extension EtcdClient {
    /// Makes all changes if all comparisons hold, or reads keys.
    ///
    /// The changes are durable when this returns. After ``EtcdFailure/mayHaveBeenApplied`` they may
    /// have been made, all of them, or none.
    ///
    /// - Parameters:
    ///   - comparisons: At least one has to be of a key that is changed, by its revision or version,
    ///     so that the transaction can be repeated after a try without an answer. Without one it is
    ///     not repeated, but fails.
    ///   - changes: At most one of each key. etcd takes 128, if it isn't configured otherwise.
    ///   - reads: The keys whose items the outcome has if the comparisons don't hold; together with
    ///     those that are changed, as many as etcd takes changes.
    /// - Returns: The outcome. That the comparisons don't hold is no failure.
    /// - Throws: ``EtcdFailure``, or `CancellationError`, after which the changes may have been made,
    ///   too.
    package func transaction(
        if comparisons: [EtcdComparison], then changes: [EtcdChange], else reads: [EtcdKey] = []
    ) async throws -> EtcdOutcome {
        let changed = Set(changes.map(\.key))
        let isRepeatable =
            changes.isEmpty
            || comparisons.contains { $0.endsWithChange && changed.contains($0.key) }
        // The changed keys, to see whether an earlier try was carried out.
        let keys = reads + changes.map(\.key).filter { !reads.contains($0) }
        let request = TransactionRequest(
            compare: comparisons.map(message), success: changes.map(message),
            failure: keys.map {
                .requestRange(RangeRequest(key: Base64Bytes(configuration.prefix + $0)))
            })
        let result = try await perform(
            .transaction, request, isRepeatable ? .repeatableWrite : .otherWrite)
        let answer = result.answer
        guard answer.parts.count == (answer.succeeded ? changes.count : keys.count) else {
            throw malformed("another number of parts", mayHaveBeenApplied: true)
        }
        if answer.succeeded {
            return EtcdOutcome(succeeded: true, revision: answer.header.revision, items: [])
        }
        var found: [EtcdKey: EtcdItem] = [:]
        for (key, part) in zip(keys, answer.parts) {
            guard let range = part.responseRange else {
                throw malformed("a part of another kind", mayHaveBeenApplied: true)
            }
            found[key] = try item(key, in: range, mayHaveBeenApplied: true)
        }
        if result.afterUnanswered,
            let revision = Self.revision(ofApplied: changes, found, answer.header.revision)
        {
            return EtcdOutcome(succeeded: true, revision: revision, items: [])
        }
        return EtcdOutcome(
            succeeded: false, revision: answer.header.revision, items: reads.map { found[$0] })
    }

    /// Writes a key that isn't there.
    ///
    /// - Returns: The outcome, with the item of the key if it is there.
    /// - Throws: As ``transaction(if:then:else:)``.
    package func putIfAbsent(_ key: EtcdKey, _ value: [UInt8]) async throws -> EtcdOutcome {
        try await transaction(if: [.isAbsent(key)], then: [.put(key, value)], else: [key])
    }

    /// Writes a key whose last change was at a revision.
    ///
    /// - Returns: The outcome, with the item of the key if its last change was at another.
    /// - Throws: As ``transaction(if:then:else:)``.
    package func compareAndSwap(
        _ key: EtcdKey, modRevision: Int64, _ value: [UInt8]
    ) async throws -> EtcdOutcome {
        try await transaction(
            if: [EtcdComparison(key, .modRevision(modRevision))], then: [.put(key, value)],
            else: [key])
    }

    /// Deletes the keys from one up to another, without that.
    ///
    /// It is repeated after a try without an answer: keys that were created in the range meanwhile
    /// are deleted, too. Delete only what is not created again.
    ///
    /// - Returns: The number of keys that the last try deleted.
    /// - Throws: ``EtcdFailure``, or `CancellationError`, after which the keys may be deleted, too.
    package func deleteRange(from first: EtcdKey, to end: EtcdKey) async throws -> Int64 {
        guard first < end else { return 0 }
        return try await delete(configuration.prefix + first, configuration.prefix + end)
    }

    /// Deletes the keys with a prefix, as ``deleteRange(from:to:)`` does. Empty: all of the circle.
    package func deleteRange(_ prefix: EtcdKey) async throws -> Int64 {
        let whole = configuration.prefix + prefix
        return try await delete(whole, whole.end)
    }

    private func delete(_ first: EtcdKey, _ end: EtcdKey) async throws -> Int64 {
        let request = DeletionRequest(key: Base64Bytes(first), rangeEnd: Base64Bytes(end))
        return try await perform(.deleteRange, request, .repeatableWrite).answer.count
    }

    // MARK: Parts

    /// The revision at which changes were made, as the items of their keys tell. nil: they don't.
    private static func revision(
        ofApplied changes: [EtcdChange], _ items: [EtcdKey: EtcdItem], _ now: Int64
    ) -> Int64? {
        var revisions: Set<Int64> = []
        for change in changes {
            switch change {
            case .put(let key, let value):
                guard let item = items[key], item.value == value else { return nil }
                revisions.insert(item.modRevision)
            case .delete(let key):
                guard items[key] == nil else { return nil }
            }
        }
        return revisions.count > 1 ? nil : revisions.first ?? now
    }

    private func message(_ comparison: EtcdComparison) -> TransactionRequest.Compare {
        let key = Base64Bytes(configuration.prefix + comparison.key)
        return switch comparison.target {
        case .modRevision(let number):
            .init(key: key, target: "MOD", modRevision: DecimalNumber(number))
        case .createRevision(let number):
            .init(key: key, target: "CREATE", createRevision: DecimalNumber(number))
        case .version(let number):
            .init(key: key, target: "VERSION", version: DecimalNumber(number))
        }
    }

    private func message(_ change: EtcdChange) -> TransactionRequest.Operation {
        let key = Base64Bytes(configuration.prefix + change.key)
        return switch change {
        case .put(_, let value): .requestPut(.init(key: key, value: Base64Bytes(value)))
        case .delete: .requestDeleteRange(DeletionRequest(key: key))
        }
    }
}

#endif
