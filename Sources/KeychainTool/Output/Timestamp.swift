// Timestamp: converts times to and from RFC 3339 text in UTC.
// Foundation's formatters are not used, because they first load calendar and locale data.

/// A time as text with a resolution of one second, for instance `2026-05-01T12:34:56Z`.
///
/// - Parameter seconds: Seconds since 2001-01-01 00:00:00 UTC.
/// - Returns: The text or, for a time outside the years 1 to 9999, the number itself.
package func timestamp(_ seconds: Double) -> String {
    // Days from 0001-01-01 to 2001-01-01 and to 10000-01-01 in the Gregorian calendar.
    let epochDays = 730_485.0
    let allDays = 3_652_059.0
    guard seconds.isFinite, seconds >= -epochDays * 86_400,
        seconds < (allDays - epochDays) * 86_400
    else { return "\(seconds)" }
    let total = Int(seconds.rounded(.down)) + Int(epochDays) * 86_400
    var day = total / 86_400
    let second = total % 86_400

    // The calendar's cycles of 400, 100, 4 and 1 years.
    var year = 1 + 400 * (day / 146_097)
    day %= 146_097
    let centuries = min(day / 36_524, 3)
    year += 100 * centuries
    day -= 36_524 * centuries
    year += 4 * (day / 1461)
    day %= 1461
    let years = min(day / 365, 3)
    year += years
    day -= 365 * years

    var month = 1
    for length in lengths(ofMonthsIn: year) {
        guard day >= length else { break }
        day -= length
        month += 1
    }
    return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day + 1, 2) + "T"
        + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":"
        + padded(second % 60, 2) + "Z"
}

/// The numbers of days of the twelve months.
private func lengths(ofMonthsIn year: Int) -> [Int] {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

private func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}

enum Timestamp {
    /// Parses a text in the format of ``timestamp(_:)``.
    ///
    /// - Returns: Seconds since 2001-01-01 00:00:00 UTC, or `nil` for any other text.
    static func seconds(_ text: String) -> Double? {
        let form = text.map { $0.isASCII && $0.isNumber ? "0" : $0 }
        guard String(form) == "0000-00-00T00:00:00Z" else { return nil }
        return seconds(digits: text.filter(\.isNumber)[...])
    }

    /// Parses a UTC time in the form `20260501123456`.
    ///
    /// - Returns: Seconds since 2001-01-01 00:00:00 UTC, or `nil` for any other text.
    static func seconds(digits: Substring) -> Double? {
        guard digits.utf8.count == 14, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        func part(_ start: Int, _ count: Int) -> Int {
            Int(digits.dropFirst(start).prefix(count)) ?? 0
        }
        let (year, month, day) = (part(0, 4), part(4, 2), part(6, 2))
        let (hour, minute, second) = (part(8, 2), part(10, 2), part(12, 2))
        guard (1...12).contains(month), (1...lengths(ofMonthsIn: year)[month - 1]).contains(day),
            hour < 24, minute < 60, second < 61
        else { return nil }
        // The number of the day in a calendar whose years begin in March, so that a leap day is the
        // last day of its year.
        let (shifted, place) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let days =
            365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * place + 2) / 5
            + day
        // The number of the day 2001-01-01 in this calendar.
        let epoch = 730_792
        return Double(days - epoch) * 86_400 + Double(hour * 3600 + minute * 60 + second)
    }
}
