// CircleDirectory: the circles on a server, and their membership logs.
//   (1) A log is verified from its founding entry on, and against the circle's identifier. The
//       server can show a shorter log than there is. It can show a log with other entries only if
//       it has the recovery code, or the keys of a machine that is or was a member.
//   (2) `log(of:continuing:)` rejects a log without the entry whose head the caller knows.

package import FoundationEssentials
import KeychainCrypto
package import KeychainSynchronization

/// A verified membership log.
package struct CircleLog: Sendable {
    package let circle: Circle
    package let entries: [MembershipEntry]

    /// The entries as ``SynchronizationMessage/join(membership:)`` takes them.
    package var records: [Data] { entries.map { Data($0.bytes) } }

    /// Whether a machine is in the circle.
    package func includes(_ machine: MachineDescription) -> Bool {
        circle.member(machine.id) != nil
    }

    /// Whether the log had this head at some time.
    func contains(_ head: LogHead) -> Bool { circle.digest(at: head.index) == head.digest }
}

package struct CircleDirectory: Sendable {
    private let store: any RecordStore

    /// The number of names after which the server isn't asked for more.
    private static let nameLimit = 256

    package init(_ store: any RecordStore) { self.store = store }

    /// The circles of which the server has records and whose identifiers begin with the given
    /// digits, in ascending order. Names that aren't identifiers are skipped.
    ///
    /// - Throws: ``JoiningFailure/tooManyCircles`` if more than 255 names begin with the digits,
    ///   including names that aren't identifiers.
    package func circles(beginningWith digits: String = "") async throws -> [CircleID] {
        var circles: [CircleID] = []
        var previous: String?
        for _ in 0..<Self.nameLimit {
            let records = try await store.records(digits, after: previous, limit: 1)
            guard let record = records.first else { return circles }
            let name = record.key.prefix { $0 != "/" }
            if let circle = Self.circle(named: name) { circles.append(circle) }
            // "0" is the character after the slash, so the next record belongs to another name.
            previous = String(name) + "0"
        }
        throw JoiningFailure.tooManyCircles
    }

    private static func circle(named name: Substring) -> CircleID? {
        Hexadecimal.bytes(name).flatMap { Digest($0) }.map { CircleID($0) }
    }

    /// The membership log of a circle. `nil` if the server has none.
    ///
    /// - Throws: ``SynchronizationFailure`` if the log is invalid or not that of the circle.
    package func log(of circle: CircleID) async throws -> CircleLog? {
        let keys = RecordKeys(circle: circle.description)
        var verified: Circle?
        var entries: [MembershipEntry] = []
        while true {
            let page = try await store.records(
                keys.membership, after: entries.last.map { keys.entry($0.index) },
                limit: RecordLimits.pageCount)
            // Each entry is verified before the next page is read. So a server can't keep this
            // loop running with entries that it makes up.
            for record in page {
                let entry = try Self.entry(in: record, at: UInt64(entries.count) + 1, keys)
                if verified == nil {
                    verified = try Self.founded(circle, by: entry)
                } else {
                    try verified?.append(entry)
                }
                entries.append(entry)
            }
            guard page.count >= RecordLimits.pageCount else { break }
        }
        return verified.map { CircleLog(circle: $0, entries: entries) }
    }

    private static func founded(
        _ circle: CircleID, by entry: MembershipEntry
    ) throws(SynchronizationFailure) -> Circle {
        let founded = try Circle(founding: entry)
        guard founded.id == circle else {
            throw .misplaced("the membership log belongs to another circle")
        }
        return founded
    }

    private static func entry(
        in record: StoredRecord, at index: UInt64, _ keys: RecordKeys
    ) throws(SynchronizationFailure) -> MembershipEntry {
        guard record.key == keys.entry(index) else {
            throw .gap("the record \(record.key) of the membership log")
        }
        return try MembershipEntry(decoding: record.value)
    }

    /// The membership log of a circle.
    ///
    /// - Throws: ``JoiningFailure/noCircle``, or as ``log(of:)``.
    func existingLog(of circle: CircleID) async throws -> CircleLog {
        guard let log = try await log(of: circle) else { throw JoiningFailure.noCircle }
        return log
    }

    /// The membership log of a circle, which continues a known one.
    ///
    /// - Throws: ``JoiningFailure/noCircle``, or ``SynchronizationFailure`` if the log is shorter
    ///   than the known one, differs from it, or is invalid.
    func log(of circle: CircleID, continuing known: LogHead) async throws -> CircleLog {
        let log = try await existingLog(of: circle)
        guard log.contains(known) else {
            throw SynchronizationFailure.fork("the membership log")
        }
        return log
    }
}
