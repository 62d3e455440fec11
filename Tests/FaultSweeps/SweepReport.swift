// SweepReport: the cases of a sweep, and all violations.

/// A sweep that can't be carried out on this machine. It must not count as passed.
package struct SweepImpossible: Error, CustomStringConvertible {
    package let description: String
}

package struct SweepReport {
    package internal(set) var name: String
    /// The counts, in the order of their first appearance.
    private var counts: [(name: String, count: Int)] = []
    /// The violations, each with the information to repeat it.
    package private(set) var violations: [String] = []

    package init(_ name: String) {
        self.name = name
    }

    package mutating func count(_ name: String, _ amount: Int = 1) {
        if let index = counts.firstIndex(where: { $0.name == name }) {
            counts[index].count += amount
        } else {
            counts.append((name, amount))
        }
    }

    package subscript(_ name: String) -> Int {
        counts.first { $0.name == name }?.count ?? 0
    }

    package mutating func violate(_ what: String) {
        violations.append(what)
    }

    package var summary: String {
        ([name] + counts.map { "\($0.count) \($0.name)" } + ["\(violations.count) wrong"])
            .joined(separator: ", ")
    }
}
