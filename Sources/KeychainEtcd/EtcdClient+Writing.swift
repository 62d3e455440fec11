// EtcdClient+Writing: transactions, and the operations that are built on them.
//   (1) A transaction is carried out once or not at all. If an attempt gets no answer, the next
//       attempts send the same transaction. Its comparisons fail if an earlier attempt was carried
//       out.
//   (2) In that case, the client recognizes the earlier success by the keys: each key has the value
//       that the transaction puts, all with one revision, and the deleted keys are absent. So two
//       transactions that put the same value, or delete the same key, can both count as successful.
//       Transactions should put different values, as signed and encrypted values are.
//   (3) If another writer replaced such a value before the next attempt, the transaction counts as
//       failed, and the outcome has the current items. No data is lost: the caller decides again,
//       and compares with these items.
//   (4) An attempt without an answer can be carried out late, as long as its comparisons hold. Once
//       the key has changed, a comparison with the revision of its last change never holds again; a
//       comparison with its version or its absence can hold again after the key is deleted.

#if Synchronization

/// A condition on one key. A transaction makes its changes only if all of its conditions hold.
package struct EtcdComparison: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// The revision of the key's last change. 0 if there is no such key.
        case modRevision(Int64)
        /// The number of changes since the key was created. 0 if there is no such key.
        case version(Int64)
        /// The revision at which the key was created. 0 if there is no such key.
        case createRevision(Int64)
    }

    package let key: EtcdKey
    package let target: Target

    package init(_ key: EtcdKey, _ target: Target) { (self.key, self.target) = (key, target) }

    package static func isAbsent(_ key: EtcdKey) -> Self { Self(key, .modRevision(0)) }

    /// Whether a change of the key makes the comparison fail.
    fileprivate var endsWithChange: Bool {
        switch target {
        case .modRevision, .version, .createRevision(0): true
        case .createRevision: false
        }
    }
}

/// A change of one key in a transaction.
package enum EtcdChange: Hashable, Sendable {
    case put(EtcdKey, [UInt8])
    case delete(EtcdKey)

    package var key: EtcdKey {
        switch self {
        case .put(let key, _), .delete(let key): key
        }
    }
}

/// The outcome of a transaction.
package struct EtcdOutcome: Hashable, Sendable {
    /// Whether the comparisons held, so that the changes were made.
    package let succeeded: Bool
    /// The revision at which the changes were made or, if they were not made, the keys were read.
    package let revision: Int64
    /// If the changes were not made, the items of the keys to read. `nil` for a key that doesn't
    /// exist.
    package let items: [EtcdItem?]
}

extension EtcdClient {
    /// Makes all changes if all comparisons hold; otherwise reads keys.
    ///
    /// The changes are durable when this returns. After a failure with
    /// ``EtcdFailure/mayHaveBeenApplied``, either all changes have been made or none.
    ///
    /// - Parameters:
    ///   - comparisons: The transaction can be repeated after an attempt without an answer only if
    ///     at least one comparison is about the revision or version of a key that is changed.
    ///     Otherwise it fails instead.
    ///   - changes: At most one change of each key. etcd accepts 128 changes by default.
    ///   - reads: The keys whose items the outcome has if the comparisons don't hold. etcd's
    ///     limit also applies to these keys and the changed keys together.
    /// - Returns: The outcome. It isn't an error if the comparisons don't hold.
    /// - Throws: ``EtcdFailure``, or `CancellationError`, after which the changes may also have
    ///   been made.
    package func transaction(
        if comparisons: [EtcdComparison], then changes: [EtcdChange], else reads: [EtcdKey] = []
    ) async throws -> EtcdOutcome {
        let changed = Set(changes.map(\.key))
        let isRepeatable =
            changes.isEmpty
            || comparisons.contains { $0.endsWithChange && changed.contains($0.key) }
        // The changed keys show whether an earlier attempt was carried out.
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
            throw malformed("it has a wrong number of parts", mayHaveBeenApplied: true)
        }
        if answer.succeeded {
            return EtcdOutcome(succeeded: true, revision: answer.header.revision, items: [])
        }
        var found: [EtcdKey: EtcdItem] = [:]
        for (key, part) in zip(keys, answer.parts) {
            guard let range = part.responseRange else {
                throw malformed("it has a part of a wrong kind", mayHaveBeenApplied: true)
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

    /// Writes a key if it doesn't exist.
    ///
    /// - Returns: The outcome, with the item of the key if it exists.
    /// - Throws: As ``transaction(if:then:else:)``.
    package func putIfAbsent(_ key: EtcdKey, _ value: [UInt8]) async throws -> EtcdOutcome {
        try await transaction(if: [.isAbsent(key)], then: [.put(key, value)], else: [key])
    }

    /// Writes a key if its last change was at the given revision.
    ///
    /// - Returns: The outcome, with the item of the key if its last change was at another revision.
    /// - Throws: As ``transaction(if:then:else:)``.
    package func compareAndSwap(
        _ key: EtcdKey, modRevision: Int64, _ value: [UInt8]
    ) async throws -> EtcdOutcome {
        try await transaction(
            if: [EtcdComparison(key, .modRevision(modRevision))], then: [.put(key, value)],
            else: [key])
    }

    /// Deletes the keys from `first` up to, but not including, `end`.
    ///
    /// The deletion is repeated after an attempt without an answer, and then also deletes keys that
    /// were created in the range meanwhile. So delete only ranges in which no key is created again.
    ///
    /// - Returns: The number of keys that the last attempt deleted.
    /// - Throws: ``EtcdFailure``, or `CancellationError`, after which the keys may also have been
    ///   deleted.
    package func deleteRange(from first: EtcdKey, to end: EtcdKey) async throws -> Int64 {
        guard first < end else { return 0 }
        return try await delete(configuration.prefix + first, configuration.prefix + end)
    }

    /// Deletes the keys with a prefix, as ``deleteRange(from:to:)`` does. An empty prefix means all
    /// keys of the circle.
    package func deleteRange(_ prefix: EtcdKey) async throws -> Int64 {
        let whole = configuration.prefix + prefix
        return try await delete(whole, whole.end)
    }

    private func delete(_ first: EtcdKey, _ end: EtcdKey) async throws -> Int64 {
        let request = DeletionRequest(key: Base64Bytes(first), rangeEnd: Base64Bytes(end))
        return try await perform(.deleteRange, request, .repeatableWrite).answer.count
    }

    // MARK: Parts

    /// The revision at which the changes were made, according to the items of their keys. `nil` if
    /// the items don't show that the changes were made.
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
