// ScalingPlot: an SVG plot of time over number of items, both on logarithmic axes.

import Foundation

/// One line of the plot.
package struct Series: Encodable {
    package let name: String
    /// A color in SVG syntax.
    package let color: String
    package let isDashed: Bool
    package let points: [Point]

    package init(name: String, color: String, isDashed: Bool, points: [Point]) {
        self.name = name
        self.color = color
        self.isDashed = isDashed
        self.points = points
    }

    package struct Point: Encodable {
        package let itemCount: Int
        package let nanoseconds: Double

        package init(itemCount: Int, nanoseconds: Double) {
            self.itemCount = itemCount
            self.nanoseconds = nanoseconds
        }
    }
}

/// One panel of the plot: its title and its lines.
package struct Panel {
    let title: String
    let series: [Series]

    package init(_ title: String, _ series: [Series]) {
        self.title = title
        self.series = series
    }
}

package enum ScalingPlot {
    private static let panelWidth = 490.0
    private static let height = 460.0
    private static let left = 80.0
    private static let gap = 44.0
    private static let top = 50.0
    private static let bottom = 60.0
    /// An upper bound of the width of a character in a name.
    private static let characterWidth = 6.6

    /// - Parameter panels: The panels, drawn side by side with the same axes. At least one line
    ///   must have a point, and all item counts and times in nanoseconds must be at least 1. The
    ///   legend names the lines of the first panel.
    /// - Returns: A complete SVG document.
    package static func svg(_ panels: [Panel]) -> String {
        let points = panels.flatMap(\.series).flatMap(\.points)
        let columns = decades(points.map { Double($0.itemCount) })
        let rows = decades(points.map(\.nanoseconds))
        func y(_ value: Double) -> Double {
            height - bottom - (height - top - bottom) * share(of: value, in: rows)
        }

        var body: [String] = []
        for decade in rows {
            let value = power(decade)
            body.append(text(Format.time(value), left - 8, y(value) + 4, anchor: "end"))
        }
        for (index, panel) in panels.enumerated() {
            let start = left + Double(index) * (panelWidth + gap)
            func x(_ value: Double) -> Double { start + panelWidth * share(of: value, in: columns) }
            for value in rows.map(power) {
                body.append(line(start, y(value), start + panelWidth, y(value), "#dddddd"))
            }
            for value in columns.map(power) {
                body.append(line(x(value), top, x(value), height - bottom, "#dddddd"))
                body.append(
                    text(Format.grouped(value), x(value), height - bottom + 20, anchor: "middle"))
            }
            body += panel.series.flatMap { drawing($0, x, y) }
            body.append(text(panel.title, start, top - 22, anchor: "start", size: 16))
            body.append(
                text("items (logarithmic)", start + panelWidth / 2, height - 16, anchor: "middle"))
        }
        let right = left + Double(panels.count) * (panelWidth + gap) - gap
        let names = panels.first?.series ?? []
        body += legend(names, right + 16)
        body.append(
            "<text transform=\"translate(18 \(rounded((top + height - bottom) / 2))) rotate(-90)\" "
                + "text-anchor=\"middle\">time of one call (logarithmic)</text>")
        let longest = names.map(\.name.count).max() ?? 0
        let width = right + 60 + characterWidth * Double(longest)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(rounded(width)) \
            \(rounded(height))" font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            \(body.joined(separator: "\n"))
            </svg>

            """
    }

    private static func drawing(
        _ series: Series, _ x: (Double) -> Double, _ y: (Double) -> Double
    ) -> [String] {
        let places = series.points.map {
            (rounded(x(Double($0.itemCount))), rounded(y($0.nanoseconds)))
        }
        let path = places.map { "\($0),\($1)" }.joined(separator: " ")
        let dashes = series.isDashed ? " stroke-dasharray=\"5 4\"" : ""
        return [
            "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(series.color)\" "
                + "stroke-width=\"2\"\(dashes)/>"
        ]
            + places.map {
                "<circle cx=\"\($0)\" cy=\"\($1)\" r=\"3\" fill=\"\(series.color)\"/>"
            }
    }

    /// The legend. The names are listed at the side, in the order of the lines' ends from top to
    /// bottom. Names written directly at the lines' ends would overlap if two lines ended close
    /// together.
    private static func legend(_ series: [Series], _ x: Double) -> [String] {
        let ordered = series.sorted {
            ($0.points.last?.nanoseconds ?? 0) > ($1.points.last?.nanoseconds ?? 0)
        }
        return ordered.enumerated().flatMap { index, series in
            let y = top + 10 + 22 * Double(index)
            return [
                line(x, y - 4, x + 24, y - 4, series.color, isDashed: series.isDashed, width: 2),
                text(series.name, x + 30, y, anchor: "start"),
            ]
        }
    }

    // MARK: Axes

    /// The exponents of the powers of ten on an axis, at least two. The first power is at most the
    /// smallest value, and the last is at least the largest. Values must be at least 1.
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
