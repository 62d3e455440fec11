// LogCursor: the verified part of a machine's log. Documentation/Synchronization.md, "Logs".
//   (1) Each entry has to continue the hash chain, except the first entry after deleted entries
//       that were skipped. That first entry or a later one has to confirm that the skipped entries
//       aren't needed; until then the log is incomplete.
//   (2) A rejected entry changes nothing. An entry is rejected as a fork, which the caller reports,
//       if it has the next index but doesn't continue the chain, if it has the head's index but not
//       the head's digest, or if it refers to a different membership log. An entry with a lower
//       index is rejected as repeated. So is an entry with the head's index if the head was
//       skipped, because the digest of a skipped entry isn't known.

package struct LogCursor: Hashable, Sendable {
    package let writer: MachineID
    /// The last entry that was accepted. After ``skip(to:)`` and until the next entry is accepted,
    /// the head is instead the last skipped entry: the index before the one passed to
    /// ``skip(to:)``, with a digest of zeros.
    package private(set) var head: LogHead
    /// The last entry that was accepted. ``skip(to:)`` doesn't change it.
    package private(set) var verified = LogHead.empty
    /// The index of the last entry of the membership log that the writer knew when it wrote
    /// ``verified``.
    package private(set) var known: UInt64 = 0
    /// The index of the first entry that is still needed, according to the last accepted entry.
    package private(set) var first: UInt64 = 1
    /// The indexes of the entries that were skipped and that are needed, as far as is known.
    private var skipped: [Range<UInt64>] = []

    package init(writer: MachineID) {
        self.writer = writer
        head = .empty
    }

    /// Whether no entry that is still needed was skipped, as far as is known.
    package var isWhole: Bool { missingCount == 0 }

    /// The number of entries that were skipped and are still needed, as far as is known.
    package var missingCount: UInt64 { skipped.reduce(0) { $0 + UInt64($1.count) } }

    /// The index after that of the last entry that was skipped, whether or not it is needed. 0: no
    /// entry was skipped.
    private(set) var endOfGaps: UInt64 = 0

    /// Continues at a later entry than the next one, since the entries in between were deleted. If
    /// `index` isn't later, nothing happens.
    package mutating func skip(to index: UInt64) {
        guard index > head.index + 1 else { return }
        skipped.append(head.index + 1..<index)
        endOfGaps = index
        head = LogHead(index: index - 1, digest: .zero)
    }

    /// Verifies the next entry and accepts it.
    package mutating func take(
        _ entry: LogEntry, in circle: Circle
    ) throws(SynchronizationFailure) {
        let frame = entry.frame
        let name = "entry \(entry.index) of \(writer)"
        guard frame.circle == circle.id, frame.writer == writer else {
            throw .misplaced("\(name), which isn't of this circle or machine")
        }
        guard entry.index > head.index else {
            let isOther = entry.index == head.index && entry.digest != head.digest
            // A digest of zeros stands for a skipped entry, whose digest isn't known. So an entry
            // with the index of that skipped entry is rejected as repeated, not as a fork.
            throw isOther && head.digest != .zero ? .fork(name) : .repeated(name)
        }
        guard entry.index == head.index + 1 else { throw .gap(name) }
        let isBehindDeleted = skipped.last?.upperBound == entry.index
        guard isBehindDeleted || frame.previous.digest == head.digest else { throw .fork(name) }
        guard frame.membership.index > 0 else {
            throw .malformed("\(name) refers to no entry of the membership log")
        }
        guard let known = circle.digest(at: frame.membership.index) else {
            throw .gap("\(name), which refers to an unread entry of the membership log")
        }
        guard known == frame.membership.digest else { throw .fork(name) }
        guard frame.membership.index >= self.known, frame.first >= first else {
            throw .malformed("\(name) refers to an older state than the entry before it")
        }
        guard circle.roster.wasMember(writer, at: frame.membership.index),
            let machine = circle.machine(writer)
        else { throw .notEntitled("\(name) isn't from a member") }
        guard machine.description.isValid(entry.signature, over: entry.signedBytes) else {
            throw .badSignature(name)
        }
        head = entry.head
        verified = head
        self.known = frame.membership.index
        first = frame.first
        skipped = skipped.map { $0.clamped(to: first..<UInt64.max) }.filter { !$0.isEmpty }
    }
}
