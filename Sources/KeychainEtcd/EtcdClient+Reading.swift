// EtcdClient+Reading: the values of keys, and the state of a node.
//   (1) Reads are linearizable: they see every change that was acknowledged before they began.
//   (2) What is taken from an answer are keys of the circle that were asked for, in order; anything
//       else makes the answer malformed. So a loop over pages ends or goes on to greater keys.

#if Synchronization

/// Some of the keys of a range, in their order.
package struct EtcdPage: Hashable, Sendable {
    package let items: [EtcdItem]
    /// Whether there are keys after these. Then this page isn't empty.
    package let hasMore: Bool
    /// That of the whole cluster when this was read. A later page is read at this one, so that all
    /// pages show one state; a watch goes on from the next.
    package let revision: Int64
}

/// What a node says of itself and its cluster.
package struct EtcdStatus: Hashable, Sendable {
    /// Of the node's program, such as `3.5.9`.
    package let version: String
    package let member: String
    /// The member that leads. nil: there is none, and nothing can be written.
    package let leader: String?
    package let revision: Int64
    package let databaseByteCount: Int64
}

extension EtcdClient {
    /// Reads a key.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: ``EtcdFailure``, or `CancellationError`.
    package func get(_ key: EtcdKey) async throws -> EtcdItem? {
        let request = RangeRequest(key: Base64Bytes(configuration.prefix + key))
        return try item(key, in: await perform(.range, request).answer)
    }

    /// Reads the keys with a prefix, or some of them.
    ///
    /// - Parameters:
    ///   - prefix: What the keys begin with. Empty: all keys of the circle.
    ///   - previous: The last key of the page before. nil: this is the first page.
    ///   - limit: The number of keys, from 1. If they have more bytes than an answer may have, there
    ///     are fewer.
    ///   - revision: As of when. nil: now.
    /// - Returns: The page. Read the next one after its last key, at its revision.
    /// - Throws: ``EtcdFailure``; with ``EtcdFailure/Reason/compacted(_:)`` if the revision is no
    ///   longer kept: begin with the first page. `CancellationError`.
    package func range(
        _ prefix: EtcdKey, after previous: EtcdKey? = nil, limit: Int = 500, revision: Int64? = nil
    ) async throws -> EtcdPage {
        while true {
            let count = max(min(limit, pageLimit), 1)
            do {
                let page = try await page(prefix, previous, count, revision)
                let isSmall = page.items.reduce(0) { $0 + $1.value.count } < 1 << 20
                if isSmall, page.items.count == pageLimit { pageLimit *= 2 }
                return page
            } catch let failure as EtcdFailure {
                guard case .answerTooLarge = failure.reason, count > 1 else { throw failure }
                pageLimit = count / 2
            }
        }
    }

    private func page(
        _ prefix: EtcdKey, _ previous: EtcdKey?, _ limit: Int, _ revision: Int64?
    ) async throws -> EtcdPage {
        let whole = configuration.prefix + prefix
        let first = previous.map { (configuration.prefix + $0).successor } ?? whole
        let request = RangeRequest(
            key: Base64Bytes(first), rangeEnd: Base64Bytes(whole.end),
            limit: DecimalNumber(Int64(limit)), revision: revision.map(DecimalNumber.init))
        let answer = try await perform(.range, request).answer
        var items: [EtcdItem] = []
        for keyValue in answer.keyValues {
            guard let item = keyValue.item(below: configuration.prefix),
                item.key.bytes.starts(with: prefix.bytes), previous.map({ $0 < item.key }) ?? true,
                items.last.map({ $0.key < item.key }) ?? true
            else { throw malformed("a key that is not in the range, or out of order") }
            items.append(item)
        }
        guard items.count <= limit, !(items.isEmpty && answer.hasMore) else {
            throw malformed("another number of keys than was asked for")
        }
        return EtcdPage(
            items: items, hasMore: answer.hasMore, revision: revision ?? answer.header.revision)
    }

    /// Asks a node for its state: the first that answers.
    ///
    /// - Throws: ``EtcdFailure``, or `CancellationError`.
    package func status() async throws -> EtcdStatus {
        let answer = try await perform(.status, StatusRequest()).answer
        // It is shown on terminals.
        let version = answer.version.filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || ".-+".contains($0))
        }
        return EtcdStatus(
            version: String(version.prefix(32)),
            member: answer.header.memberID, leader: answer.leader.isEmpty ? nil : answer.leader,
            revision: answer.header.revision, databaseByteCount: answer.databaseByteCount)
    }

    /// The item in the answer to a question for one key.
    func item(
        _ key: EtcdKey, in answer: RangeAnswer, mayHaveBeenApplied: Bool = false
    ) throws -> EtcdItem? {
        guard let keyValue = answer.keyValues.first else { return nil }
        guard answer.keyValues.count == 1, let item = keyValue.item(below: configuration.prefix),
            item.key == key
        else {
            throw malformed(
                "another key than the one that was asked for",
                mayHaveBeenApplied: mayHaveBeenApplied)
        }
        return item
    }

    func malformed(_ what: String, mayHaveBeenApplied: Bool = false) -> EtcdFailure {
        EtcdFailure(.malformed(what), mayHaveBeenApplied: mayHaveBeenApplied)
    }
}

#endif
