// EtcdClient+Reading: reads keys with their values.
//   (1) Reads of the current revision are linearizable: they see every change that was acknowledged
//       before they began.
//   (2) An answer may contain only keys of the requested range, in order; any other answer is
//       malformed. So a loop over pages ends, or continues with greater keys.

#if Synchronization

/// Items of a range, in the order of their keys.
package struct EtcdPage: Hashable, Sendable {
    package let items: [EtcdItem]
    /// Whether the range has further keys. If it has, this page isn't empty.
    package let hasMore: Bool
    /// The revision of the whole cluster that this page shows. Later pages can be read at the same
    /// revision, so that all pages show one state. A watch can begin at the next revision.
    package let revision: Int64
}

extension EtcdClient {
    /// Reads the keys with a prefix, one page at a time.
    ///
    /// - Parameters:
    ///   - prefix: The bytes that the keys begin with, after the configured prefix. An empty prefix
    ///     means all keys below the configured one.
    ///   - previous: The last key of the previous page. `nil` for the first page.
    ///   - limit: The maximum number of keys, at least 1. The page can have fewer keys although
    ///     there are more, so that the answer doesn't become too large.
    ///   - revision: The revision to read at. `nil` for the current one.
    /// - Returns: The page. To read the next page, pass this page's last key and revision.
    /// - Throws: ``EtcdFailure``, or `CancellationError`. The reason of a failure is
    ///   ``EtcdFailure/Reason/compacted`` if etcd no longer has the revision. The caller then has
    ///   to begin with the first page.
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
                guard count > 1 else { throw failure }
                switch failure.reason {
                case .answerTooLarge: pageLimit = count / 2
                case .deadline:
                    // Over a slow connection, a smaller answer to the next call may arrive before
                    // the deadline.
                    pageLimit = count / 2
                    throw failure
                default: throw failure
                }
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
            else { throw malformed("it has a key outside the range, or out of order") }
            items.append(item)
        }
        guard items.count <= limit, !(items.isEmpty && answer.hasMore) else {
            throw malformed("it has a wrong number of keys")
        }
        return EtcdPage(
            items: items, hasMore: answer.hasMore, revision: revision ?? answer.header.revision)
    }

    func malformed(_ what: String, mayHaveBeenApplied: Bool = false) -> EtcdFailure {
        EtcdFailure(.malformed(what), mayHaveBeenApplied: mayHaveBeenApplied)
    }
}

#endif
