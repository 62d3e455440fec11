// Program: runs the measurements in order, and outputs the results.

import BenchmarkFigures
import Foundation
import Keychain

enum Program {
    /// - Parameter arguments: The arguments of the process, without its name.
    /// - Returns: The exit status: 64 for a `UsageError`, such as wrong arguments or too little
    ///   disk space; 1 for another error or a limit that is missed by more than noise; otherwise 0.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            if let role = try Role(arguments) {
                try role.run()
                return 0
            }
            guard let options = try Options(arguments) else {
                print(Options.usage)
                return 0
            }
            return try measure(options) ? 0 : 1
        } catch {
            note("benchmarks: \(error)")
            return error is UsageError ? 64 : 1
        }
    }

    /// - Returns: `true` if no limit is missed by more than noise.
    private static func measure(_ options: Options) throws -> Bool {
        var report = Report(machine: Machine.current())
        let folder = try WorkingFolder(in: options.folder)
        defer { folder.remove() }

        try FileManager.default.createDirectory(
            atPath: options.results, withIntermediateDirectories: true)
        // The comparison with other secret stores comes first, because its processes must not
        // inherit the environment variables that `measureLadder` sets.
        report.peers = try PeerRows.measure(folder, options, leftOut: &report.leftOut)
        report.remarks.append(PeerRows.remark)
        report.plots.append(
            try write(
                [PeerCall.load, .save].map { call in
                    Panel(
                        call.title + " (dashed: a process for each call)",
                        report.peers.compactMap { $0.series(of: call) })
                }, "peers.svg", options))
        if !options.isPeersOnly { try measureLadder(options, folder, &report) }
        report.machine.loadAtEnd = Machine.loadAverage()

        print(options.isJSON ? try report.json() : report.text())
        for line in report.missed { note("MISSED: \(line)") }
        return report.missed.isEmpty
    }

    private static func measureLadder(
        _ options: Options, _ folder: WorkingFolder, _ report: inout Report
    ) throws {
        let ladder = try Ladder.build(options.sizes, in: folder)
        report.remarks += ladder.remarks
        let smallest = try ladder.smallest()
        // From here on, the environment selects the keychain of this process, because the SecItem
        // functions have no parameter for it.
        Environment.set("KEYCHAIN_SERVICE", "embedded")
        Environment.set("KEYCHAIN_DIRECTORY", smallest.directory)

        report.rows += try LoadRows.measure(smallest)
        report.rows += try SaveRows.measure(smallest)
        report.rows += try LogRows.measure(smallest)
        report.rows += try SaveRates.measure(smallest)
        let scaling = try ScalingRows.measure(ladder.levels)
        report.rows += scaling.rows
        report.rows += try ListRows.measure(ladder)
        report.rows += try ProcessRows.measure(ladder, options, leftOut: &report.leftOut)
        report.rows += try ServiceRows.measure(
            ladder, folder, options, leftOut: &report.leftOut)
        let panel = Panel("Time of one call, by number of items", scaling.series)
        report.plots.append(try write([panel], "scaling.svg", options))
    }

    /// - Returns: The path of the plot.
    private static func write(
        _ panels: [Panel], _ name: String, _ options: Options
    ) throws -> String {
        let plot = URL(fileURLWithPath: options.results).appending(path: name)
        try Data(ScalingPlot.svg(panels).utf8).write(to: plot)
        return plot.path(percentEncoded: false)
    }

    /// Writes progress and failures to standard error, since standard output contains the results.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
