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

/// splitmix64: repeatable, and good enough to choose the places of interruptions.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
