// ScalingPlot: time over number of items as an SVG, both on logarithmic axes.

import Foundation

/// One line of the plot.
struct Series: Encodable {
    let name: String
    /// Any colour that SVG knows.
    let color: String
    let isFloor: Bool
    let points: [Point]

    struct Point: Encodable {
        let itemCount: Int
        let nanoseconds: Double
    }
}

enum ScalingPlot {
    private static let width = 760.0
    private static let height = 460.0
    private static let left = 80.0
    private static let right = 190.0
    private static let top = 50.0
    private static let bottom = 60.0

    /// - Parameter series: Each with the same numbers of items, at least one; times above zero.
    /// - Returns: A whole SVG document.
    static func svg(_ series: [Series]) -> String {
        let points = series.flatMap(\.points)
        let columns = decades(points.map { Double($0.itemCount) })
        let rows = decades(points.map(\.nanoseconds))

        func x(_ value: Double) -> Double {
            left + (width - left - right) * share(of: value, in: columns)
        }
        func y(_ value: Double) -> Double {
            height - bottom - (height - top - bottom) * share(of: value, in: rows)
        }

        var body: [String] = []
        for decade in columns {
            let value = power(decade)
            body.append(line(x(value), top, x(value), height - bottom, "#dddddd"))
            body.append(
                text(Format.grouped(value), x(value), height - bottom + 20, anchor: "middle"))
        }
        for decade in rows {
            let value = power(decade)
            body.append(line(left, y(value), width - right, y(value), "#dddddd"))
            body.append(text(Format.time(value), left - 8, y(value) + 4, anchor: "end"))
        }
        for series in series {
            let path = series.points
                .map { "\(rounded(x(Double($0.itemCount)))),\(rounded(y($0.nanoseconds)))" }
                .joined(separator: " ")
            let dashes = series.isFloor ? " stroke-dasharray=\"5 4\"" : ""
            body.append(
                "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(series.color)\" "
                    + "stroke-width=\"2\"\(dashes)/>")
            for point in series.points {
                body.append(
                    "<circle cx=\"\(rounded(x(Double(point.itemCount))))\" "
                        + "cy=\"\(rounded(y(point.nanoseconds)))\" r=\"3\" "
                        + "fill=\"\(series.color)\"/>")
            }
        }
        body += legend(series)
        body.append(
            text("Time of one call, by number of items", left, top - 22, anchor: "start", size: 16))
        body.append(
            text(
                "items in the keychain (logarithmic)", (left + width - right) / 2, height - 16,
                anchor: "middle"))
        body.append(
            "<text transform=\"translate(18 \(rounded((top + height - bottom) / 2))) rotate(-90)\" "
                + "text-anchor=\"middle\">time of one call (logarithmic)</text>")
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(rounded(width)) \
            \(rounded(height))" font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            \(body.joined(separator: "\n"))
            </svg>

            """
    }

    /// Names beside the lines would lie on one another where the lines do.
    private static func legend(_ series: [Series]) -> [String] {
        series.enumerated().flatMap { index, series in
            let y = top + 10 + 22 * Double(index)
            let x = width - right + 16
            return [
                line(x, y - 4, x + 24, y - 4, series.color, isDashed: series.isFloor, width: 2),
                text(series.name, x + 30, y, anchor: "start"),
            ]
        }
    }

    // MARK: Axes

    /// The powers of ten from below the smallest value to above the largest.
    private static func decades(_ values: [Double]) -> ClosedRange<Int> {
        var low = 0
        while power(low + 1) <= (values.min() ?? 1) { low += 1 }
        var high = low + 1
        while power(high) < (values.max() ?? 1) { high += 1 }
        return low...high
    }

    private static func power(_ exponent: Int) -> Double {
        pow(10, Double(exponent))
    }

    private static func share(of value: Double, in decades: ClosedRange<Int>) -> Double {
        let exponent = log10(value)
        return (exponent - Double(decades.lowerBound)) / Double(decades.count - 1)
    }

    // MARK: Elements

    private static func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ color: String,
        isDashed: Bool = false, width: Int = 1
    ) -> String {
        "<line x1=\"\(rounded(x1))\" y1=\"\(rounded(y1))\" x2=\"\(rounded(x2))\" "
            + "y2=\"\(rounded(y2))\" stroke=\"\(color)\" stroke-width=\"\(width)\""
            + (isDashed ? " stroke-dasharray=\"5 4\"" : "") + "/>"
    }

    private static func text(
        _ text: String, _ x: Double, _ y: Double, anchor: String, size: Int = 12
    ) -> String {
        "<text x=\"\(rounded(x))\" y=\"\(rounded(y))\" text-anchor=\"\(anchor)\" "
            + "font-size=\"\(size)\">\(text)</text>"
    }

    private static func rounded(_ value: Double) -> String {
        Format.number((value * 10).rounded() / 10)
    }
}
