// ServiceStatistics: what a service has done for one keychain since it was started, in numbers. No
// name of an item, a program or a group is in it, and no value.

package struct ServiceStatistics: Hashable, Sendable {
    /// The requests of one operation.
    package struct Operation: Hashable, Sendable {
        /// As logs name it.
        package let name: String
        package fileprivate(set) var count = 0
        /// Those among them that ended in an error: not found is one, too.
        package fileprivate(set) var failureCount = 0
        package fileprivate(set) var longestMicroseconds = 0
        /// How many took less than each of ``ServiceStatistics/limits``, and not less than the one
        /// before; the last ones are those that took longer than all.
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

    /// In microseconds, each four times the one before: from 64 µs to 4 s.
    package static let limits = (0..<9).map { 64 << (2 * $0) }

    /// Since the service first spoke to a program about the keychain.
    package var seconds = 0
    /// Connections that are there.
    package var connectionCount = 0
    /// Programs that got nothing.
    package var refusalCount = 0
    /// In the order in which they were first asked for.
    package var operations: [Operation] = []

    package init() {}

    /// A request was answered.
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
