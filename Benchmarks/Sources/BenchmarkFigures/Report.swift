// Report: the results of a run, as a table or as JSON.

import Foundation

package struct Report: Encodable {
    package var machine: Machine
    package var rows: [Row] = []
    package var peers: [PeerFigures] = []
    /// Notes on how the figures were measured.
    package var remarks: [String] = []
    /// The measurements that were left out, each with the reason.
    package var leftOut: [String] = []
    /// The paths of the plots.
    package var plots: [String] = []

    package init(machine: Machine) { self.machine = machine }

    // MARK: Limits

    /// A line for each limit that was missed by more than noise: the subject, its figure and the
    /// limit.
    package var missed: [String] { lines(of: .missed) }

    package func lines(of verdict: Verdict) -> [String] {
        rows.flatMap { row in
            row.comparisons.filter { $0.verdict == verdict }.map { comparison in
                func text(_ value: Double) -> String {
                    comparison.ratio == nil
                        ? Format.value(value, row.unit) : Format.number(value) + " ×"
                }
                let subject = row.subject.trimmingCharacters(in: .whitespaces)
                let base = comparison.with.isEmpty ? "" : ", against \(comparison.with)"
                let edges = Set(comparison.quartiles).sorted().map(text)
                let spread =
                    edges.count == 2 ? " (half of the rounds: \(edges[0]) to \(edges[1]))" : ""
                return "\(subject)\(base): \(text(comparison.ratio ?? row.figure))\(spread), "
                    + "limit \(comparison.limitText(row.unit))"
            }
        }
    }

    /// The limits that no figure of this run was compared with.
    package var unmeasured: [Limit] {
        let measured = Set(rows.flatMap(\.comparisons).compactMap(\.limit))
        return Limit.allCases.filter { !measured.contains($0) }
    }

    // MARK: Output

    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    package func text() -> String {
        var lines = [
            "\(machine.processor), \(machine.coreCount) cores, \(machine.system)",
            "Load average \(machine.loadAtStart) at the start, \(machine.loadAtEnd) at the end",
        ]
        if machine.isLoaded {
            lines.append(
                "WARNING: other programs were running. This distorts times more than ratios.")
        }
        lines.append("")
        lines += table()
        lines.append("")
        if !peers.isEmpty { lines += PeerFigures.table(peers) + [""] }
        lines.append(
            "Figures are medians over rounds in which a figure and its floor (the same work "
                + "without a keychain) are measured in turn. A time is the time of one call. A "
                + "limit is MISSED if at least three "
                + "quarters of the rounds miss it; if fewer rounds miss it but the median does, "
                + "the result is within noise. A figure that was counted or measured once has no "
                + "noise. An aim is a stricter limit that has not been reached yet; missing it is "
                + "not a failure.")
        lines += remarks
        lines += leftOut.map { "Left out: \($0)" + ($0.hasSuffix(".") ? "" : ".") }
        if !unmeasured.isEmpty {
            let names = unmeasured.map(\.rawValue).joined(separator: "; ")
            lines.append("Limits that weren't measured in this run: \(names).")
        }
        lines += plots.map { "Plot: \($0)" }
        return lines.joined(separator: "\n")
    }

    private func table() -> [String] {
        var cells = [["", "figure", "compared with", "", "ratio", "limit", ""]]
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
                    comparison?.limitText(row.unit) ?? "",
                    comparison?.verdict?.rawValue ?? "",
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
                // Figures are aligned to the right, words to the left.
                text += [1, 3, 4].contains(column) ? space + cell : cell + space
                text += "  "
            }
            while text.last == " " { text.removeLast() }
            return text
        }
    }
}
