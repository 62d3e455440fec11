// Report: the results of a run, as a table or as JSON.

import Foundation

struct Report: Encodable {
    var machine: Machine
    var rows: [Row] = []
    /// What a reader must know about how the figures came about.
    var remarks: [String] = []
    /// What was not measured, and why.
    var leftOut: [String] = []
    /// The path of the drawing.
    var plot = ""

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    func text() -> String {
        var lines = [
            "\(machine.processor), \(machine.coreCount) cores, \(machine.system)",
            "Load average \(machine.loadAtStart) at the start, \(machine.loadAtEnd) at the end",
        ]
        if machine.isLoaded {
            lines.append("WARNING: other programs were running. Ratios hold better than times.")
        }
        lines.append("")
        lines += table()
        lines.append("")
        lines.append(
            "Medians over rounds in which a figure and its floor take turns. A time is that of "
                + "one call.")
        lines += remarks
        lines += leftOut.map { "Left out: \($0)." }
        lines.append("Plot: \(plot)")
        return lines.joined(separator: "\n")
    }

    private func table() -> [String] {
        var cells = [["", "figure", "held against", "", "ratio", "limit", ""]]
        for row in rows {
            let comparisons = row.comparisons.isEmpty ? [nil] : row.comparisons.map(Optional.some)
            for (index, comparison) in comparisons.enumerated() {
                let isFirst = index == 0
                cells.append([
                    isFirst ? row.subject : "",
                    isFirst ? Format.value(row.figure, row.unit) : "",
                    comparison?.with ?? "",
                    comparison?.base.map { Format.value($0, row.unit) } ?? "",
                    comparison?.ratio.map { Format.number($0) + " ×" } ?? "",
                    comparison?.limit ?? "",
                    comparison?.isMet.map { $0 ? "pass" : "OVER" } ?? "",
                ])
            }
        }
        let widths = cells[0].indices.map { column in
            cells.map { $0[column].count }.max() ?? 0
        }
        return cells.map { line in
            var text = ""
            for (column, cell) in line.enumerated() {
                let space = String(repeating: " ", count: widths[column] - cell.count)
                // Figures end at the same place, words begin there.
                text += [1, 3, 4].contains(column) ? space + cell : cell + space
                text += "  "
            }
            while text.last == " " { text.removeLast() }
            return text
        }
    }
}
