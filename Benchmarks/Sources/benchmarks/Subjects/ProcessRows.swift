// ProcessRows: the cost of whole processes: start, duration, memory and the size of the program.

import BenchmarkFigures
import Foundation

enum ProcessRows {
    private static let starts = 31
    private static let loads = 1_000

    static func measure(
        _ ladder: Ladder, _ options: Options, leftOut: inout [String]
    ) throws -> [Row] {
        Program.note("Measuring processes")
        var rows = [try coldStart()]
        if FileManager.default.isExecutableFile(atPath: options.keychainctl) {
            rows.append(try oneShot(options.keychainctl))
        } else {
            leftOut.append(
                "one-shot keychainctl get: there is no \(options.keychainctl). Build it with "
                    + "`swift build -c release --product keychainctl --static-swift-stdlib` or "
                    + "name one with --keychainctl")
        }
        for (program, limit) in [
            (options.keychainctl, Limit.keychainctlSize), (options.keychaind, .keychaindSize),
        ] {
            rows += try size(program, limit, &leftOut)
        }
        rows.append(try memory(ladder.largest()))
        return rows
    }

    /// The size of the program file at `path`. There is no row if the file is missing or the
    /// program is dynamically linked.
    private static func size(
        _ path: String, _ limit: Limit, _ leftOut: inout [String]
    ) throws -> [Row] {
        guard let program = FileManager.default.contents(atPath: path) else { return [] }
        // A dynamically linked program would be measured without the libraries that it needs.
        guard program.range(of: Data("libswiftCore.so".utf8)) == nil else {
            leftOut.append("\(limit.rawValue): \(path) isn't built with --static-swift-stdlib")
            return []
        }
        let size = Samples(Double(program.count))
        return [Row(limit.rawValue, size, .size, [.itself(size, limit)])]
    }

    /// The time from the start of a process until it has loaded its first secret.
    private static func coldStart() throws -> Row {
        let program = try ChildProcess.ownPath()
        var toSecret: [Double] = []
        var toBegin: [Double] = []
        for _ in 0..<starts {
            toSecret.append(try timeToOutput(program, "role:first-load"))
            toBegin.append(try timeToOutput(program, "role:begin"))
        }
        let figure = Samples(toSecret)
        return Row(
            "cold start: process start to first secret", figure, .time,
            [
                .itself(figure, .coldStart),
                .times(figure, of: Samples(toBegin), "process start to main"),
            ])
    }

    /// Runs a process that writes an instant to standard output.
    /// - Returns: The time from the start of the process until that instant.
    private static func timeToOutput(_ program: String, _ role: String) throws -> Double {
        let run = try ChildProcess.run(program, [role])
        return try run.moment().nanoseconds(since: run.started)
    }

    /// The duration of a process that writes one secret to standard output.
    private static func oneShot(_ keychainctl: String) throws -> Row {
        var whole: [Double] = []
        var nothing: [Double] = []
        for _ in 0..<starts {
            let run = try ChildProcess.run(
                keychainctl,
                [
                    "get", "--service", Sample.service(of: 0), "--account", Sample.account(of: 0),
                    "--raw",
                ])
            guard run.output == String(decoding: Sample.secret(of: 0), as: UTF8.self) else {
                throw WrongAnswer(description: "keychainctl wrote the wrong secret.")
            }
            whole.append(run.duration)
            nothing.append(try ChildProcess.run("/bin/true", []).duration)
        }
        let figure = Samples(whole)
        return Row(
            "keychainctl get, whole process", figure, .time,
            [
                .itself(figure, .oneShot),
                .times(figure, of: Samples(nothing), "a process that does nothing"),
            ])
    }

    /// The peak memory of a process that loads from the largest keychain.
    private static func memory(_ level: Level) throws -> Row {
        Environment.set("KEYCHAIN_DIRECTORY", level.directory)
        let peak = Samples(
            try ChildProcess.figure(of: ["role:memory", "\(level.itemCount)", "\(loads)"]))
        let count = Format.grouped(Double(level.itemCount))
        return Row(
            "peak memory, \(count) items, \(Format.grouped(Double(loads))) loads",
            peak, .size, [.itself(peak, .memory)])
    }
}
