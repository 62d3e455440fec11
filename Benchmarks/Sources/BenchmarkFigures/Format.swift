// Format: figures as text.

import Foundation

package enum Format {
    package static func value(_ value: Double, _ unit: Row.Unit) -> String {
        switch unit {
        case .time: time(value)
        case .size: number(value / 1_048_576) + " MiB"
        case .itemsPerSecond: grouped(value) + " items/s"
        case .savesPerSecond: grouped(value) + " saves/s"
        case .frames: number(value) + " frames"
        }
    }

    /// - Parameter nanoseconds: A time of at least 0.
    /// - Returns: The time in s, ms, µs or ns: the first of these units in which it is at least 1.
    ///   A time below 1 ns is stated in ns.
    package static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: number(nanoseconds) + " ns"
        case ..<1e6: number(nanoseconds / 1e3) + " µs"
        case ..<1e9: number(nanoseconds / 1e6) + " ms"
        default: number(nanoseconds / 1e9) + " s"
        }
    }

    /// A number with two decimal places if its magnitude is below 10, one if it is below 100, and
    /// otherwise none. Zeros at the end of the decimal places are omitted.
    package static func number(_ value: Double) -> String {
        let places = abs(value) < 10 ? 2 : abs(value) < 100 ? 1 : 0
        let text = String(format: "%.\(places)f", value)
        guard text.contains(".") else { return text }
        var digits = text[...]
        while digits.last == "0" { digits.removeLast() }
        if digits.last == "." { digits.removeLast() }
        return String(digits)
    }

    /// A number, rounded to an integer, with commas as thousands separators.
    ///
    /// - Parameter value: A number that fits into an `Int` when rounded, or one that isn't finite.
    /// - Returns: The text, or `?` if the number isn't finite.
    package static func grouped(_ value: Double) -> String {
        guard value.isFinite else { return "?" }
        let integer = Int(value.rounded())
        var digits = Array(String(integer.magnitude))
        var position = digits.count - 3
        while position > 0 {
            digits.insert(",", at: position)
            position -= 3
        }
        return (integer < 0 ? "-" : "") + String(digits)
    }
}
