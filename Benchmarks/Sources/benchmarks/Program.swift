// Program: the order of the run, and what becomes of its results.

import Foundation
import Keychain

enum Program {
    /// - Parameter arguments: Those of the process, without its name.
    /// - Returns: The exit status. A figure over its limit is a result, not a failure.
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
            try measure(options)
            return 0
        } catch {
            note("benchmarks: \(error)")
            return error is UsageError ? 64 : 1
        }
    }

    private static func measure(_ options: Options) throws {
        var report = Report(machine: Machine.current())
        let folder = try WorkingFolder(in: options.folder)
        defer { folder.remove() }

        let ladder = try Ladder.build(options.sizes, in: folder)
        report.remarks += ladder.remarks
        let smallest = try ladder.smallest()
        // The keychain of this process from here on: the SecItem functions take no other.
        Environment.set("KEYCHAIN_SERVICE", "embedded")
        Environment.set("KEYCHAIN_DIRECTORY", smallest.directory)

        report.rows += try LoadRows.measure(smallest)
        report.rows += try SaveRows.measure(smallest)
        report.rows += try SaveRates.measure()
        let scaling = try ScalingRows.measure(ladder.levels)
        report.rows += scaling.rows
        report.rows += try ListRows.measure(ladder)
        report.rows += try ProcessRows.measure(ladder, options, leftOut: &report.leftOut)
        report.rows += try ServiceRows.measure(
            ladder, folder, options, leftOut: &report.leftOut)

        let plot = URL(fileURLWithPath: options.results).appending(path: "scaling.svg")
        try FileManager.default.createDirectory(
            atPath: options.results, withIntermediateDirectories: true)
        try Data(ScalingPlot.svg(scaling.series).utf8).write(to: plot)
        report.plot = plot.path(percentEncoded: false)
        report.machine.loadAtEnd = Machine.loadAverage()

        print(options.isJSON ? try report.json() : report.text())
    }

    /// Progress and failures go to standard error, so that standard output holds the results.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
