// AuditVerification: holds an audit against its verification key: which records are as they were
// written, and where one is missing, altered or in another place.
//   (1) A record is as it was written if its tag is that of the key of its number.
//   (2) The anchor says how many records there are. It is believed where it has the key of the next
//       one: nobody can make that of an earlier record.
//   (3) The first records may be gone with their files where a later record of the service says so.
//   (4) A last line without an end is not an alteration: the service was ended while it wrote.

import Glibc
package import KeychainCore

/// What is wrong with an audit, and where.
package enum AuditFinding: Hashable, Sendable {
    case missing(ClosedRange<UInt64>)
    /// A line isn't as it was written. It stands where the record of that number belongs.
    case altered(UInt64, file: String)
    /// It stands behind a later one, or for the second time.
    case misplaced(UInt64, file: String)
    /// There are records, and no anchor that says how many.
    case noAnchor
    /// The anchor doesn't have the key of the record that it says is next.
    case alteredAnchor
    /// The anchor is of another audit: this one was ended and another one begun.
    case otherAnchor(Bytes16)
    /// Nothing in the folder is of the audit that the verification key is of.
    case otherKey
    /// What was noted of the audit elsewhere doesn't fit the records up to that one.
    case otherHead(UInt64)
    case unreadable(file: String)
}

/// What was noted of an audit elsewhere: what stands for its records up to one.
package struct AuditWitness: Hashable, Sendable {
    package let count: UInt64
    /// The first 16 bytes, 32 digits.
    package let head: String

    package init(count: UInt64, head: String) {
        self.count = count
        self.head = head
    }

    /// As ``description`` gives it.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = UInt64(parts[0]),
            Hexadecimal.bytes(parts[1])?.count == 16
        else { return nil }
        self.init(count: count, head: String(parts[1]))
    }

    package var description: String { "\(count):\(head)" }
}

package struct AuditVerification {
    package private(set) var findings: [AuditFinding] = []
    /// How many records are as they were written.
    package private(set) var validCount = 0
    /// The first record that the files have. 1, unless the files before were removed.
    package private(set) var first: UInt64 = 1
    /// What stands for all records, where nothing is wrong with them.
    package private(set) var witness: AuditWitness?
    /// The bytes of a record that was never finished.
    package private(set) var unfinishedByteCount = 0

    /// Whether the record is there that something was noted of.
    package private(set) var isExpectedReached = false

    private var cursor: Cursor
    private var head = AuditHead.none
    private let position: AuditPosition?
    private let expected: AuditWitness?
    private var lastPruned: UInt64 = 0

    /// - Parameters:
    ///   - folder: The audit.
    ///   - key: Its verification key.
    ///   - expected: What was noted of it elsewhere.
    /// - Throws: Where the folder can't be read.
    package init(
        _ folder: AuditFolder, key: RecoveryCode, expecting expected: AuditWitness? = nil
    ) throws(KeychainFailure) {
        let origin = AuditOrigin(key)
        // Before the files: a service that runs goes on writing.
        let found = Result { () throws(KeychainFailure) in try folder.position() }
        let files = try folder.files().filter { $0.chain == origin.chain }
        let anchor = (try? found.get()) ?? nil
        position = anchor.flatMap { $0.chain == origin.chain ? $0 : nil }
        self.expected = expected
        cursor = Cursor(key: origin.firstKey, watched: position)
        if position == nil {
            switch found {
            case .success(let other?):
                findings.append(files.isEmpty ? .otherKey : .otherAnchor(other.chain))
            case .success: findings.append(files.isEmpty ? .otherKey : .noAnchor)
            case .failure: findings.append(.alteredAnchor)
            }
        }
        if let start = files.first?.first, start > 1 {
            first = start
            skip(to: start, reporting: false)
        }
        for (index, file) in files.enumerated() {
            try walk(file, isLast: index == files.count - 1)
        }
        conclude()
    }

    // MARK: Files

    private mutating func walk(
        _ file: AuditFolder.File, isLast: Bool
    ) throws(KeychainFailure) {
        guard let descriptor = Files.open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let content = try? AuditFolder.lines(of: descriptor)
        else {
            findings.append(.unreadable(file: file.path))
            return
        }
        if file.first > cursor.number { skip(to: file.first) }
        if let header = content.lines.first,
            let before = AuditFolder.head(in: header, of: file)
        {
            // Behind a gap, and where earlier files were removed, the header alone tells.
            if hasGap || file.first == first, first > 1 || file.first > 1 { head = before }
            if head != before { findings.append(.altered(file.first, file: file.path)) }
        } else if !(isLast && content.lines.isEmpty) {
            findings.append(.altered(file.first, file: file.path))
        }
        for line in content.lines.dropFirst() { take(line, of: file) }
        if isLast {
            unfinishedByteCount = content.rest.count
        } else if !content.rest.isEmpty {
            findings.append(.altered(cursor.number, file: file.path))
        }
    }

    private var hasGap: Bool { !findings.isEmpty }

    /// Records are missing up to that one. A number that no record can have isn't counted up to.
    private mutating func skip(to number: UInt64, reporting reports: Bool = true) {
        if reports { findings.append(.missing(cursor.number...number - 1)) }
        guard number - cursor.number < Self.longestGap else {
            findings.append(.alteredAnchor)
            return
        }
        cursor.advance(to: number)
    }

    private mutating func take(_ line: ArraySlice<UInt8>, of file: AuditFolder.File) {
        guard let (encoded, tag) = AuditRecord.parts(of: line),
            let record = AuditRecord(encoded: encoded)
        else { return takeAltered(file, tag: nil) }
        if record.number < cursor.number {
            findings.append(.misplaced(record.number, file: file.path))
            return
        }
        // A number that no record can have is an alteration, and isn't counted up to.
        var ahead = cursor
        if record.number > cursor.number {
            guard record.number < max(position?.next ?? .max, cursor.number),
                record.number - cursor.number < Self.longestGap
            else { return takeAltered(file, tag: tag) }
            ahead.advance(to: record.number)
        }
        guard ahead.key.tag(of: encoded) == tag else { return takeAltered(file, tag: tag) }
        if record.number > cursor.number {
            findings.append(.missing(cursor.number...record.number - 1))
        }
        cursor = ahead
        if record.operation == AuditEvent.prune.rawValue {
            lastPruned = max(lastPruned, UInt64(clamping: record.result))
        }
        validCount += 1
        finish(tag)
    }

    private static let longestGap: UInt64 = 100_000_000

    /// A line that nobody who had the key has written stands for the record that belongs there.
    private mutating func takeAltered(_ file: AuditFolder.File, tag: [UInt8]?) {
        findings.append(.altered(cursor.number, file: file.path))
        finish(tag ?? [])
    }

    private mutating func finish(_ tag: [UInt8]) {
        head = head.following(tag)
        if let expected, cursor.number == expected.count {
            isExpectedReached = true
            if head.short != expected.head { findings.append(.otherHead(cursor.number)) }
        }
        if let position, cursor.number == position.next - 1, head != position.head, !hasGap {
            findings.append(.alteredAnchor)
        }
        cursor.advance(to: cursor.number + 1)
    }

    // MARK: The end

    private mutating func conclude() {
        let end = max(position?.next ?? 1, (expected?.count ?? 0) + 1)
        if cursor.number < end { skip(to: end) }
        if first > 1, lastPruned < first - 1 {
            findings.insert(.missing(lastPruned + 1...first - 1), at: 0)
        }
        if cursor.fitsWatched == false { findings.append(.alteredAnchor) }
        if findings.isEmpty {
            witness = AuditWitness(count: cursor.number - 1, head: head.short)
        }
    }
}

/// The key of one record, on its way from the first to the last.
private struct Cursor {
    private(set) var number: UInt64 = 1
    private(set) var key: AuditKey
    private let watched: AuditPosition?
    /// Whether the key that the anchor has is that of the record that it says is next. nil: that
    /// one wasn't reached.
    private(set) var fitsWatched: Bool?

    init(key: AuditKey, watched: AuditPosition?) {
        self.key = key
        self.watched = watched
        look()
    }

    mutating func advance(to target: UInt64) {
        while number < target {
            key = key.next()
            number += 1
            look()
        }
    }

    private mutating func look() {
        if let watched, watched.next == number {
            fitsWatched = watched.key.bytes.isEqual(to: key.bytes)
        }
    }
}
