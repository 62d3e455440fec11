// Row: one measured figure and what it is held against.

/// A figure of a run. Times are in nanoseconds, sizes in bytes.
struct Row: Encodable {
    enum Unit: String, Encodable {
        case time = "ns"
        case size = "bytes"
        case itemsPerSecond = "items/s"
        case savesPerSecond = "saves/s"
    }

    let subject: String
    let figure: Double
    var unit = Unit.time
    var comparisons: [Comparison] = []
}

/// A figure held against something: a floor, an earlier figure or a limit.
struct Comparison: Encodable {
    /// What the figure is held against, with its own figure where that was measured.
    let with: String
    /// What the figure is held against, in the unit of the figure.
    let base: Double?
    /// How the two compare.
    let ratio: Double?
    let limit: String?
    /// nil: there is no limit.
    let isMet: Bool?

    /// So many times the figure of `base`, measured in the same run.
    static func times(_ figure: Double, of base: Double, _ name: String, atMost limit: Double?)
        -> Comparison
    {
        let ratio = figure / base
        return Comparison(
            with: name, base: base, ratio: ratio,
            limit: limit.map { "≤ \(Format.number($0)) ×" }, isMet: limit.map { ratio <= $0 })
    }

    /// So many times faster than a known time.
    static func faster(_ figure: Double, than base: Double, atLeast limit: Double?) -> Comparison {
        let ratio = base / figure
        return Comparison(
            with: "reference time, how many times faster", base: base, ratio: ratio,
            limit: limit.map { "≥ \(Format.number($0)) ×" }, isMet: limit.map { ratio >= $0 })
    }

    /// At least so many times the figure of `base`, measured in the same run.
    static func timesAtLeast(
        _ limit: Double, _ figure: Double, of base: Double, _ name: String
    ) -> Comparison {
        let ratio = figure / base
        return Comparison(
            with: name, base: base, ratio: ratio, limit: "≥ \(Format.number(limit)) ×",
            isMet: ratio >= limit)
    }

    static func atMost(_ limit: Double, _ figure: Double, _ unit: Row.Unit) -> Comparison {
        Comparison(
            with: "", base: nil, ratio: nil, limit: "≤ " + Format.value(limit, unit),
            isMet: figure <= limit)
    }

    static func atLeast(_ limit: Double, _ figure: Double, _ unit: Row.Unit) -> Comparison {
        Comparison(
            with: "", base: nil, ratio: nil, limit: "≥ " + Format.value(limit, unit),
            isMet: figure >= limit)
    }
}

/// Times in nanoseconds that the package set out to beat: those of a program that kept its keys
/// in the keychain of the system it ran on.
enum ReferenceTime {
    static let save = 2.76e6
    static let load = 2.64e6
    static let symmetricKeyRoundTrip = 3.09e6
}
