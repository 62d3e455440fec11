// StatisticsFields: the statistics of a service, for monitoring.

import KeychainCore

enum StatisticsFields {
    /// The fields for statistics. There are none for `nil`: the service has an earlier version, or
    /// didn't report statistics to this program.
    static func of(_ statistics: ServiceStatistics?) -> [ItemField] {
        guard let statistics else { return [] }
        return [
            ItemField(
                label: "", key: "service", text: "",
                json: .object([
                    ("seconds", .count(statistics.seconds)),
                    ("connections", .count(statistics.connectionCount)),
                    ("refusals", .count(statistics.refusalCount)),
                    ("requests", .array(statistics.operations.map(json))),
                ]), isShown: false)
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
