// ServiceStatistics: the statistics that a service keeps about one keychain, from the first
// connection for this keychain on. They contain no attribute value, and no name of an item, a
// program or a group.

package struct ServiceStatistics: Hashable, Sendable {
    /// The requests of one operation.
    package struct Operation: Hashable, Sendable {
        /// The name of the operation, as in logs.
        package let name: String
        package fileprivate(set) var count = 0
        /// The number of requests that failed. "Not found" counts as a failure.
        package fileprivate(set) var failureCount = 0
        package fileprivate(set) var longestMicroseconds = 0
        /// A histogram of durations. Each count is the number of requests that took less than the
        /// limit at the same position in ``ServiceStatistics/limits``, and at least the limit
        /// before it, if there is one. The last count is for all longer requests.
        package fileprivate(set) var counts = Array(repeating: 0, count: limits.count + 1)

        package init(_ name: String) { self.name = name }

        package init(
            _ name: String, count: Int, failureCount: Int, longestMicroseconds: Int, counts: [Int]
        ) {
            self.name = name
            self.count = count
            self.failureCount = failureCount
            self.longestMicroseconds = longestMicroseconds
            self.counts = counts
        }
    }

    /// The upper limits of the histogram in microseconds, from 64 µs to 4.2 s. Each is four times
    /// the one before.
    package static let limits = (0..<9).map { 64 << (2 * $0) }

    /// The seconds since the service began to serve this keychain.
    package var seconds = 0
    /// The number of open connections.
    package var connectionCount = 0
    /// The number of connections of programs that may not use the keychain.
    package var refusalCount = 0
    /// The operations, in the order in which they were first answered.
    package var operations: [Operation] = []

    package init() {}

    /// Records an answered request.
    package mutating func note(_ name: String, failed: Bool, microseconds: Int) {
        let index = operations.firstIndex { $0.name == name } ?? operations.endIndex
        if index == operations.endIndex { operations.append(Operation(name)) }
        operations[index].count += 1
        if failed { operations[index].failureCount += 1 }
        operations[index].longestMicroseconds = max(
            operations[index].longestMicroseconds, microseconds)
        let place = Self.limits.firstIndex { microseconds < $0 } ?? Self.limits.count
        operations[index].counts[place] += 1
    }
}
