// WatchProgress: what the messages of a watch say, and from which revision it goes on.
//   (1) A revision is passed only when all of its events were given to the program.
//   (2) The program sees events of keys that are watched, with revisions that don't go back. Any
//       other ends the connection.

#if Synchronization

import AsyncHTTPClient
import FoundationEssentials
import NIOCore

/// How far a watch is.
actor WatchProgress {
    private let prefix: EtcdKey
    private let watched: EtcdKey
    private let body: @Sendable (EtcdEvent) async throws -> Void
    /// The first revision that isn't complete yet.
    private(set) var next: Int64
    private var hasNews = false

    init(
        prefix: EtcdKey, watched: EtcdKey, revision: Int64,
        _ body: @escaping @Sendable (EtcdEvent) async throws -> Void
    ) {
        (self.prefix, self.watched, self.body) = (prefix, watched, body)
        next = max(revision, 1)
    }

    /// Whether a message came since this was asked last.
    func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    /// Reads messages, one a line, to the end of the connection.
    ///
    /// - Throws: ``EtcdTryFailure``, always, or what the function that takes the events throws.
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
                throw EtcdTryFailure.unanswered(.malformed("a compaction of what is kept"))
            }
            try await body(.compacted(message.compactRevision))
            (next, hasNews) = (message.compactRevision, true)
        }
        // This node has answered a linearizable read before: it has all that was seen elsewhere.
        if message.isCreated, message.header.revision < next - 1 {
            try await body(.compacted(message.header.revision + 1))
            next = message.header.revision + 1
        }
        guard !message.isCanceled else { throw EtcdTryFailure.unanswered(.unreachable) }
        var last = next
        for event in message.events {
            guard let item = event.kv.item(below: prefix),
                item.key.bytes.starts(with: watched.bytes), item.modRevision >= last
            else { throw EtcdTryFailure.unanswered(.malformed("an event that is out of place")) }
            last = item.modRevision
            let isDeletion = event.type == .deletion
            try await body(isDeletion ? .deletion(item.key, revision: last) : .put(item))
        }
        // A message without events tells how far the watch is.
        if message.events.isEmpty, !message.isCreated { last = max(last, message.header.revision) }
        let isComplete = !message.isFragment && (!message.events.isEmpty || !message.isCreated)
        next = isComplete && last < .max ? last + 1 : last
        hasNews = true
    }
}

/// Bytes up to the ends of lines.
private struct LineBuffer {
    private var rest = ByteBuffer()

    /// - Returns: The lines that are complete now.
    /// - Throws: ``EtcdTryFailure`` if one has more bytes than an answer may have.
    mutating func append(_ part: ByteBuffer) throws -> [Data] {
        // A line is searched for its end once.
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
