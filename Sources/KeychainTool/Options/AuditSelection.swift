// AuditSelection: the options that select records of an audit.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

struct AuditSelection: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only records from this time on: 2026-05-01, 2026-05-01T12:00:00Z, or an age such as "
                + "30s, 15m, 8h or 7d.", valueName: "moment"))
    var since: MomentArgument?

    @Option(help: ArgumentHelp("Only records before this time.", valueName: "moment"))
    var until: MomentArgument?

    @Option(help: ArgumentHelp("Only records of this operation, such as find.", valueName: "name"))
    var operation: String?

    @Option(help: ArgumentHelp("Only records of this program.", valueName: "path"))
    var identity: String?

    @Option(help: ArgumentHelp("Only records of this user.", valueName: "uid"))
    var user: UInt32?

    @Option(
        help: ArgumentHelp(
            "Only records that name the item with this persistent reference, which `info` shows. A "
                + "record names at most 16 items.", valueName: "hex"))
    var reference: ReferenceArgument?

    @Option(help: ArgumentHelp("Only the last records, at most this many.", valueName: "number"))
    var last: Int?

    mutating func validate() throws {
        guard last ?? 1 > 0 else {
            throw ValidationError("The value of --last must be at least 1.")
        }
    }

    var isEmpty: Bool {
        since == nil && until == nil && operation == nil && identity == nil && user == nil
            && reference == nil && last == nil
    }

    /// The selected records in order. Lines that can't be parsed are skipped; --verify reports
    /// them. Tags are not verified here.
    func records(of folder: AuditFolder) throws(KeychainFailure) -> [AuditRecord] {
        let labels = try folder.position().map { AuditItemLabels(key: $0.itemKey) }
        let label = reference.flatMap { labels?.label(of: $0.reference) }
        var found: [AuditRecord] = []
        for file in try folder.files() {
            guard let descriptor = Files.open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
                throw AuditFolder.failure("read \(quoted(file.path))")
            }
            for line in try AuditFolder.lines(of: descriptor).lines.dropFirst() {
                if let parts = AuditRecord.parts(of: line),
                    let record = AuditRecord(encoded: parts.encoded), isChosen(record, label)
                {
                    found.append(record)
                }
            }
            if let last, found.count > last { found.removeFirst(found.count - last) }
        }
        return found
    }

    private func isChosen(_ record: AuditRecord, _ label: Bytes16?) -> Bool {
        record.moment >= since?.milliseconds ?? .min && record.moment < until?.milliseconds ?? .max
            && record.operation == operation ?? record.operation
            && record.identity == identity ?? record.identity
            && record.user == user ?? record.user
            && (reference == nil || label.map { record.items.contains($0) } == true)
    }
}

/// A time or an age, as users write it.
struct MomentArgument: ExpressibleByArgument {
    /// Milliseconds since 1970-01-01 00:00:00 UTC.
    let milliseconds: Int64

    init?(argument: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        if let unit = argument.last.flatMap({ units[$0] }),
            let number = Int64(argument.dropLast()), (0...1_000_000_000).contains(number)
        {
            milliseconds = Int64(Date().timeIntervalSince1970 * 1000) - number * unit * 1000
            return
        }
        let pattern = /(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)Z)?/
        guard let match = argument.wholeMatch(of: pattern)?.output,
            let seconds = Timestamp.seconds(
                "\(match.1)-\(match.2)-\(match.3)"
                    + "T\(match.4 ?? "00"):\(match.5 ?? "00"):\(match.6 ?? "00")Z")
        else { return nil }
        // Between 1970-01-01 and 2001-01-01 there are 978307200 seconds.
        milliseconds = (Int64(seconds) + 978_307_200) * 1000
    }
}
