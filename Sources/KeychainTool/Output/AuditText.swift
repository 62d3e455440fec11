// AuditText: audit records, and the findings of an audit's verification, as text and as JSON.

import KeychainCore
import KeychainCrypto

enum AuditText {
    // MARK: Records

    static func table(_ records: [AuditRecord]) -> String {
        guard !records.isEmpty else { return "There are no records." }
        let rows = records.map { record in
            [
                "\(record.number)", moment(of: record), "\(record.user)", "\(record.process)",
                record.identity.isEmpty ? "-" : quoted(record.identity),
                printable(record.operation), printable(record.itemClass ?? "-"),
                "\(record.result)", items(of: record).joined(separator: ","),
            ]
        }
        let titles = [
            "NUMBER", "TIME", "USER", "PROCESS", "PROGRAM", "OPERATION", "CLASS", "RESULT", "ITEMS",
        ]
        return KeychainTool.table([titles] + rows)
    }

    static func json(_ record: AuditRecord) -> JSON {
        .object([
            ("number", .number(Int64(clamping: record.number))),
            ("time", .string(moment(of: record))),
            ("milliseconds", .number(record.moment)),
            ("user", .number(Int64(record.user))),
            ("process", .number(Int64(record.process))),
            ("program", .optional(record.identity.isEmpty ? nil : record.identity)),
            ("operation", .string(record.operation)),
            ("class", .optional(record.itemClass)),
            ("result", .number(record.result)),
            ("items", .array(record.items.map { .string(Hexadecimal.text($0.bytes)) })),
            ("moreItems", .count(record.unnamedItemCount)),
        ])
    }

    private static func moment(of record: AuditRecord) -> String {
        timestamp(Double(record.moment) / 1000 - 978_307_200)
    }

    private static func items(of record: AuditRecord) -> [String] {
        record.items.map { Hexadecimal.text($0.bytes) }
            + (record.unnamedItemCount > 0 ? ["+\(record.unnamedItemCount)"] : [])
    }

    // MARK: Verification

    static func text(of found: AuditVerification) -> String {
        var lines = found.findings.map { describe($0).text }
        if found.unfinishedByteCount > 0 {
            lines.append(
                "The last record, of \(found.unfinishedByteCount) bytes, is incomplete: the "
                    + "service was terminated while writing it. The next start removes it.")
        }
        if found.first > 1 {
            lines.append("Records before \(found.first) were removed together with their files.")
        }
        lines.append(
            found.findings.isEmpty
                ? "\(counted(found.validCount, "record")) verified, all unaltered."
                : "\(counted(found.validCount, "record")) verified as unaltered.")
        if let witness = found.witness { lines.append("For --expect: \(witness.description)") }
        return lines.joined(separator: "\n")
    }

    static func json(of found: AuditVerification) -> JSON {
        .object([
            ("sound", .bool(found.findings.isEmpty)),
            ("records", .count(found.validCount)),
            ("first", .number(Int64(clamping: found.first))),
            ("unfinishedBytes", .count(found.unfinishedByteCount)),
            ("expect", .optional(found.witness?.description)),
            (
                "findings",
                .array(
                    found.findings.map { finding in
                        let (kind, range, text) = describe(finding)
                        let number = { (number: UInt64?) -> JSON in
                            number.map { .number(Int64(clamping: $0)) } ?? .null
                        }
                        return .object([
                            ("kind", .string(kind)), ("first", number(range?.lowerBound)),
                            ("last", number(range?.upperBound)), ("text", .string(text)),
                        ])
                    })
            ),
        ])
    }

    private static func describe(
        _ finding: AuditFinding
    ) -> (kind: String, range: ClosedRange<UInt64>?, text: String) {
        switch finding {
        case .missing(let range):
            (
                "missing", range,
                range.lowerBound == range.upperBound
                    ? "Record \(range.lowerBound) is missing."
                    : "Records \(range.lowerBound) to \(range.upperBound) are missing."
            )
        case .altered(let number, let file):
            (
                "altered", number...number,
                "Record \(number) in \(quoted(file)) was altered."
            )
        case .misplaced(let number, let file):
            (
                "misplaced", number...number,
                "Record \(number) in \(quoted(file)) is in the wrong place."
            )
        case .noAnchor:
            ("no-anchor", nil, "The anchor is missing, so the last records may be missing as well.")
        case .alteredAnchor:
            ("altered-anchor", nil, "The anchor was altered.")
        case .otherAnchor(let chain):
            (
                "other-anchor", nil,
                "This audit was ended and another one, \(Hexadecimal.text(chain.bytes)), was "
                    + "started. The last records of this audit may be missing."
            )
        case .otherKey:
            (
                "other-key", nil,
                "Nothing here matches the verification key: the key belongs to another audit, or "
                    + "all records of this audit were removed."
            )
        case .otherHead(let number):
            (
                "other-head", number...number,
                "The records up to \(number) don't match the value of --expect."
            )
        case .unreadable(let file):
            ("unreadable", nil, "The file \(quoted(file)) can't be read.")
        }
    }
}
