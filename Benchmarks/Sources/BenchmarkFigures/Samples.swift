// Samples: the results of measuring the same thing repeatedly.

package struct Samples: Sendable {
    /// In the order of the rounds.
    package let values: [Double]

    package init(_ values: [Double]) { self.values = values }

    /// A single value that was counted or measured once. It has no spread.
    package init(_ value: Double) { values = [value] }

    /// The middle value, or the mean of the two in the middle.
    package var median: Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// The values below and above which a quarter of the samples lie.
    package var quartiles: [Double] {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return [] }
        return [sorted[sorted.count / 4], sorted[sorted.count - 1 - sorted.count / 4]]
    }

    package func map(_ transform: (Double) -> Double) -> Samples {
        Samples(values.map(transform))
    }

    /// Combines two figures round by round, so that disturbances which affected both in a round
    /// don't distort the result.
    package func combined(
        with other: Samples, _ combine: (Double, Double) -> Double
    ) -> Samples {
        Samples(zip(values, other.values).map(combine))
    }

    package static func / (left: Samples, right: Samples) -> Samples {
        left.combined(with: right, /)
    }

    package static func * (left: Samples, right: Samples) -> Samples {
        left.combined(with: right, *)
    }

    package static func + (left: Samples, right: Samples) -> Samples {
        left.combined(with: right, +)
    }
}
