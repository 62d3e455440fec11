// WatchProgress: decodes the messages of a watch, and tracks the revision from which the watch
// continues.
//   (1) The progress moves past a revision only after the program has received all events of the
//       revision, or `compacted` in their place.
//   (2) The program receives puts and deletions only of watched keys and, from each connection, in
//       the order of their revisions. An event of another key, or one out of order, ends the
//       connection.

#if Synchronization

import AsyncHTTPClient
import FoundationEssentials
import NIOCore

/// The progress of a watch.
actor WatchProgress {
    private let prefix: EtcdKey
    private let watched: EtcdKey
    private let body: @Sendable (EtcdEvent) async throws -> Void
    /// The first revision whose events haven't all been received.
    private(set) var next: Int64
    private var hasNews = false

    init(
        prefix: EtcdKey, watched: EtcdKey, revision: Int64,
        _ body: @escaping @Sendable (EtcdEvent) async throws -> Void
    ) {
        (self.prefix, self.watched, self.body) = (prefix, watched, body)
        next = max(revision, 1)
    }

    /// Whether a message was accepted since the last call.
    func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    /// Reads messages, one per line, until the connection ends.
    ///
    /// - Throws: Always: ``EtcdTryFailure``, or `CancellationError`.
    func read(_ messages: HTTPClientResponse.Body) async throws {
        var lines = LineBuffer()
        do {
            for try await part in messages {
                for line in try lines.append(part) { try await take(EtcdTransport.decode(line)) }
            }
        } catch let error where !(error is EtcdTryFailure || error is CancellationError) {
            throw EtcdTryFailure(transport: error)
        }
        throw EtcdTryFailure.unanswered(.unreachable)
    }

    private func take(_ answer: WatchAnswer) async throws {
        let message = answer.result
        if message.compactRevision > 0 {
            guard message.compactRevision > next else {
                throw EtcdTryFailure.unanswered(
                    .malformed("it reports a compaction that doesn't affect the watch"))
            }
            try await body(.compacted(message.compactRevision))
            (next, hasNews) = (message.compactRevision, true)
        }
        // This node has just answered a linearizable read, so it has all revisions of the cluster.
        // If the cluster's last revision is lower than one that was seen before, the cluster was
        // restored.
        if message.isCreated, message.header.revision < next - 1 {
            try await body(.compacted(message.header.revision + 1))
            next = message.header.revision + 1
        }
        guard !message.isCanceled else { throw EtcdTryFailure.unanswered(.unreachable) }
        var last = next
        for event in message.events {
            guard let item = event.kv.item(below: prefix),
                item.key.bytes.starts(with: watched.bytes), item.modRevision >= last
            else { throw EtcdTryFailure.unanswered(.malformed("it has an unexpected event")) }
            last = item.modRevision
            let isDeletion = event.type == .deletion
            try await body(isDeletion ? .deletion(item.key, revision: last) : .put(item))
        }
        // A message without events reports the progress of the watch, unless it only confirms that
        // the watch was created.
        if message.events.isEmpty, !message.isCreated { last = max(last, message.header.revision) }
        let isComplete = !message.isFragment && (!message.events.isEmpty || !message.isCreated)
        next = isComplete && last < .max ? last + 1 : last
        hasNews = true
    }
}

/// Splits received bytes into lines.
private struct LineBuffer {
    private var rest = ByteBuffer()

    /// - Returns: The lines that are complete now.
    /// - Throws: ``EtcdTryFailure`` if the line that isn't complete yet has more bytes than an
    ///   answer may have.
    mutating func append(_ part: ByteBuffer) throws -> [Data] {
        // No byte is searched twice for the end of a line.
        var searched = rest.readableBytes
        rest.writeImmutableBuffer(part)
        var lines: [Data] = []
        while let end = rest.readableBytesView.dropFirst(searched).firstIndex(of: 0x0A) {
            let count = end - rest.readerIndex
            if let line = rest.readSlice(length: count), count > 0 {
                lines.append(Data(line.readableBytesView))
            }
            rest.moveReaderIndex(forwardBy: 1)
            searched = 0
        }
        guard rest.readableBytes <= EtcdTransport.answerLimit else {
            throw EtcdTryFailure.unanswered(.answerTooLarge(EtcdTransport.answerLimit))
        }
        rest.discardReadBytes()
        return lines
    }
}

#endif
