// EtcdClient+Writing: writes that depend on the last change of a key, and deletions.
//   (1) A write is carried out once or not at all; for a write that requires the key's absence, the
//       end of (4) states an exception. If an attempt gets no answer, the next attempts send the
//       same transaction. Its comparison fails if an earlier attempt was carried out.
//   (2) If the comparison fails after an attempt without an answer, the client reads the key. If
//       the key has the value that the transaction puts, the earlier attempt counts as successful.
//       So two writes of the same value can both count as successful. Writes should therefore put
//       different values. Signed and encrypted values always differ.
//   (3) An attempt without an answer may have been carried out, and another writer may then have
//       replaced or deleted the value before the next attempt. The write counts as failed, and the
//       outcome has the current item, if there is one. No data is lost: the caller decides again,
//       and compares with this item.
//   (4) An attempt without an answer can be carried out late, as long as its comparison holds. Once
//       the key has changed, a comparison with the revision of its last change never holds again; a
//       comparison with its absence can hold again after the key is deleted.

#if Synchronization

/// The outcome of a write.
package struct EtcdOutcome: Hashable, Sendable {
    /// Whether the write counts as successful, see (2).
    package let succeeded: Bool
    /// The revision at which the value was written or, if it was not, at which the key was read.
    package let revision: Int64
    /// The item of the key if the value was not written. `nil` if the key doesn't exist, and after
    /// a success.
    package let item: EtcdItem?
}

extension EtcdClient {
    /// Writes a key if it doesn't exist.
    ///
    /// - Returns: The outcome. If the key existed, the outcome has the item of the key.
    /// - Throws: As ``compareAndSwap(_:modRevision:_:)``.
    package func putIfAbsent(_ key: EtcdKey, _ value: [UInt8]) async throws -> EtcdOutcome {
        try await compareAndSwap(key, modRevision: 0, value)
    }

    /// Writes a key if its last change was at the given revision, or, for revision 0, if it doesn't
    /// exist.
    ///
    /// If the outcome is a success, the value is durable. After a failure with
    /// ``EtcdFailure/mayHaveBeenApplied``, the value may have been written.
    ///
    /// - Returns: The outcome. A comparison that fails isn't an error: the outcome then has the
    ///   item of the key, if the key exists.
    /// - Throws: ``EtcdFailure``, or `CancellationError`, after which the value may also have been
    ///   written.
    package func compareAndSwap(
        _ key: EtcdKey, modRevision: Int64, _ value: [UInt8]
    ) async throws -> EtcdOutcome {
        let name = Base64Bytes(configuration.prefix + key)
        let request = TransactionRequest(
            compare: [.init(key: name, modRevision: DecimalNumber(modRevision))],
            success: [.requestPut(.init(key: name, value: Base64Bytes(value)))],
            failure: [.requestRange(RangeRequest(key: name))])
        let result = try await perform(.transaction, request, .write)
        let answer = result.answer
        guard answer.parts.count == 1, let part = answer.parts.first else {
            throw malformed("it has a wrong number of parts", mayHaveBeenApplied: true)
        }
        if answer.succeeded {
            return EtcdOutcome(succeeded: true, revision: answer.header.revision, item: nil)
        }
        guard let range = part.responseRange else {
            throw malformed("it has a part of a wrong kind", mayHaveBeenApplied: true)
        }
        let item = try item(key, in: range)
        if result.afterUnanswered, let item, item.value == value {
            return EtcdOutcome(succeeded: true, revision: item.modRevision, item: nil)
        }
        return EtcdOutcome(succeeded: false, revision: answer.header.revision, item: item)
    }

    /// Deletes the keys from `first` up to, but not including, `end`.
    ///
    /// The deletion is repeated after an attempt without an answer. The repetition also deletes
    /// keys that were created in the range since the first attempt. So delete only ranges in which
    /// no key is created again.
    ///
    /// - Returns: The number of keys that the last attempt deleted.
    /// - Throws: ``EtcdFailure``, or `CancellationError`, after which the keys may also have been
    ///   deleted.
    package func deleteRange(from first: EtcdKey, to end: EtcdKey) async throws -> Int64 {
        guard first < end else { return 0 }
        let request = DeletionRequest(
            key: Base64Bytes(configuration.prefix + first),
            rangeEnd: Base64Bytes(configuration.prefix + end))
        return try await perform(.deleteRange, request, .write).answer.count
    }

    /// The item of the key that a transaction read; `nil` if the key doesn't exist.
    private func item(_ key: EtcdKey, in answer: RangeAnswer) throws -> EtcdItem? {
        guard let keyValue = answer.keyValues.first else { return nil }
        guard answer.keyValues.count == 1, let item = keyValue.item(below: configuration.prefix),
            item.key == key
        else { throw malformed("it has a key that was not requested", mayHaveBeenApplied: true) }
        return item
    }
}

#endif
