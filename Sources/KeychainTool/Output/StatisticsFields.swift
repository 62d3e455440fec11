// StatisticsFields: what a service has done, as a person and as a program read it.

import KeychainCore

enum StatisticsFields {
    /// nil: the service is of an earlier version, or doesn't tell this program.
    static func of(_ statistics: ServiceStatistics?) -> [ItemField] {
        guard let statistics else { return [] }
        let operations = statistics.operations
        let count = operations.reduce(0) { $0 + $1.count }
        let failures = operations.reduce(0) { $0 + $1.failureCount }
        let longest = operations.map(\.longestMicroseconds).max() ?? 0
        return [
            ItemField(
                label: "requests", key: "service",
                text: "\(count) in \(statistics.seconds) s, of which \(failures) failed; the "
                    + "longest took \(longest) µs. \(statistics.connectionCount) connections, "
                    + "\(statistics.refusalCount) refusals",
                json: .object([
                    ("seconds", .count(statistics.seconds)),
                    ("connections", .count(statistics.connectionCount)),
                    ("refusals", .count(statistics.refusalCount)),
                    ("requests", .array(operations.map(json))),
                ]))
        ]
    }

    private static func json(_ operation: ServiceStatistics.Operation) -> JSON {
        let limits = ServiceStatistics.limits.map { JSON.count($0) } + [.null]
        let times = zip(limits, operation.counts).map { limit, count in
            JSON.object([("below", limit), ("count", .count(count))])
        }
        return .object([
            ("operation", .string(operation.name)), ("count", .count(operation.count)),
            ("failed", .count(operation.failureCount)),
            ("longest", .count(operation.longestMicroseconds)), ("microseconds", .array(times)),
        ])
    }
}
