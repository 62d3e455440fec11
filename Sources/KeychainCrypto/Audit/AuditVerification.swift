// AuditVerification: checks an audit with its verification key and reports which records are
// missing, altered or misplaced.
//   (1) A record is authentic if its tag was computed with the key of its number.
//   (2) The anchor states the number of records. It is trusted if it contains the right key for the
//       next record. To hide the removal of records, an attacker would need an earlier key, which
//       can't be derived from a later one.
//   (3) The first records may be missing together with their files if a later record of the service
//       says so.
//   (4) An incomplete last line doesn't count as an alteration: a service that is terminated while
//       it writes leaves one behind.

import Glibc
package import KeychainCore

/// A problem in an audit, and its location.
package enum AuditFinding: Hashable, Sendable {
    case missing(ClosedRange<UInt64>)
    /// The line in the place of the record with this number was altered, or the header of the file
    /// that begins with this record.
    case altered(UInt64, file: String)
    /// A record occurs after a later one, or a second time.
    case misplaced(UInt64, file: String)
    /// There are records, but no anchor that states their number.
    case noAnchor
    /// The anchor can't be read, or its number, key or head doesn't fit the records.
    case alteredAnchor
    /// The anchor belongs to another audit: this audit was ended and a new one started.
    case otherAnchor(Bytes16)
    /// The folder contains nothing of the audit that the verification key belongs to.
    case otherKey
    /// The hash over all records up to this number, called the head, differs from the one that was
    /// noted outside the audit.
    case otherHead(UInt64)
    case unreadable(file: String)
}

/// A note, kept outside the audit, of the number of its records and their head.
package struct AuditWitness: Hashable, Sendable {
    package let count: UInt64
    /// The first 16 bytes of the head, as 32 hexadecimal digits.
    package let head: String

    package init(count: UInt64, head: String) {
        self.count = count
        self.head = head
    }

    /// Decodes the text of ``description``.
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
    /// The number of authentic records.
    package private(set) var validCount = 0
    /// The number of the first record in the files. It is 1 unless earlier files were removed.
    package private(set) var first: UInt64 = 1
    /// The number of all records and their head; `nil` if there are findings.
    package private(set) var witness: AuditWitness?
    /// The size of an incomplete record at the end, in bytes.
    package private(set) var unfinishedByteCount = 0

    /// Whether the last record that the expected note covers was reached.
    package private(set) var isExpectedReached = false

    private var cursor: Cursor
    private var head = AuditHead.none
    private let position: AuditPosition?
    private let expected: AuditWitness?
    private var lastPruned: UInt64 = 0

    /// - Parameters:
    ///   - folder: The folder of the audit.
    ///   - key: The audit's verification key.
    ///   - expected: A note of the audit that was kept elsewhere.
    /// - Throws: An error if the folder can't be read.
    package init(
        _ folder: AuditFolder, key: RecoveryCode, expecting expected: AuditWitness? = nil
    ) throws(KeychainFailure) {
        let origin = AuditOrigin(key)
        // The anchor is read before the files, because a running service continues to write.
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
            // The header states the head before the file's first record. After any finding, or if
            // earlier files were removed, the head can't be computed and is taken from the header.
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

    /// Skips to a record and reports those before it as missing. A gap of an impossible length is
    /// not iterated over; the anchor is then reported as altered.
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
        // A record with an impossible number counts as altered. The keys up to it are not derived.
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

    /// Treats a line without an authentic tag as the altered form of the record that belongs there.
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
        // The keys of missing records are derived only up to the anchor's number. The number in the
        // expected note is not checked and can be too large for that.
        let next = position?.next ?? 1
        let last = max(next - 1, expected?.count ?? 0)
        if cursor.number <= last { findings.append(.missing(cursor.number...last)) }
        if cursor.number < next { skip(to: next, reporting: false) }
        if let expected, expected.count == 0 {
            isExpectedReached = true
            if expected.head != AuditHead.none.short { findings.append(.otherHead(0)) }
        }
        if first > 1, lastPruned < first - 1 {
            findings.insert(.missing(lastPruned + 1...first - 1), at: 0)
        }
        if cursor.fitsWatched == false { findings.append(.alteredAnchor) }
        if findings.isEmpty {
            witness = AuditWitness(count: cursor.number - 1, head: head.short)
        }
    }
}

/// Derives the keys of the records one after the other.
private struct Cursor {
    private(set) var number: UInt64 = 1
    private(set) var key: AuditKey
    private let watched: AuditPosition?
    /// Whether the anchor contains the key of the record that it says is next; `nil` if that record
    /// was not reached.
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
