// ServiceFailure: why the service can't start.

package struct ServiceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for people, and what to do.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }

    package var description: String { reason }
}
