// Row: one measured figure and its comparisons.

/// A figure of a run. Times are in nanoseconds, sizes in bytes.
package struct Row: Encodable {
    package enum Unit: String, Encodable {
        case time = "ns"
        case size = "bytes"
        case itemsPerSecond = "items/s"
        case savesPerSecond = "saves/s"
        case frames
    }

    package let subject: String
    /// The median of the rounds.
    package let figure: Double
    /// The lower and the upper quartile of the rounds.
    package let quartiles: [Double]
    package let unit: Unit
    package let comparisons: [Comparison]

    package init(
        _ subject: String, _ figure: Samples, _ unit: Unit = .time,
        _ comparisons: [Comparison] = []
    ) {
        self.subject = subject
        self.figure = figure.median
        quartiles = figure.quartiles
        self.unit = unit
        self.comparisons = comparisons
    }
}

/// A comparison of a figure with a base, a limit or both. The base is a floor (the cost of the same
/// work without a keychain), another figure or a reference time.
package struct Comparison: Encodable {
    /// The name of the base. Empty for a comparison with a limit only.
    package let with: String
    /// The base, in the figure's unit. `nil` for a comparison with a limit only.
    package let base: Double?
    /// The median of the rounds' ratios. `nil` if the limit applies to the figure itself.
    package let ratio: Double?
    /// The lower and the upper quartile of the rounds' ratios or, if there is no ratio, of the
    /// figure.
    package let quartiles: [Double]
    package let limit: Limit?
    /// `nil` if there is no limit.
    package let verdict: Verdict?

    private init(
        _ name: String, base: Double?, ratio: Samples?, held: Samples, _ limit: Limit?
    ) {
        with = name
        self.base = base
        self.ratio = ratio?.median
        quartiles = held.quartiles
        self.limit = limit
        verdict = limit?.bound.verdict(on: held)
    }

    /// A figure as a multiple of `base`, measured in the same rounds.
    package static func times(
        _ figure: Samples, of base: Samples, _ name: String, _ limit: Limit? = nil
    ) -> Comparison {
        let ratio = figure / base
        return Comparison(name, base: base.median, ratio: ratio, held: ratio, limit)
    }

    /// How many times faster a figure is than a reference time.
    package static func faster(
        _ figure: Samples, than base: Double, _ limit: Limit
    ) -> Comparison {
        let ratio = figure.map { base / $0 }
        return Comparison(
            "reference time, how many times faster", base: base, ratio: ratio, held: ratio, limit)
    }

    /// The figure itself, compared with a limit.
    package static func itself(_ figure: Samples, _ limit: Limit) -> Comparison {
        Comparison("", base: nil, ratio: nil, held: figure, limit)
    }

    /// The limit and the aim as text.
    package func limitText(_ unit: Row.Unit) -> String {
        func text(_ value: Double) -> String {
            ratio == nil ? Format.value(value, unit) : Format.number(value) + " ×"
        }
        func text(_ bound: Bound) -> String {
            switch bound {
            case .atMost(let value): "≤ " + text(value)
            case .atLeast(let value): "≥ " + text(value)
            }
        }
        guard let limit else { return "" }
        return text(limit.bound) + (limit.aim.map { ", aim " + text($0) } ?? "")
    }
}

/// The times in nanoseconds that this package set out to beat: those of a program that kept its
/// keys in the keychain of the operating system.
package enum ReferenceTime {
    package static let save = 2.76e6
    package static let load = 2.64e6
    package static let symmetricKeyRoundTrip = 3.09e6
}
