// ServiceRows: a keychain that a service serves to other processes.

import BenchmarkFigures
import Foundation

enum ServiceRows {
    private static let rounds = 9
    private static let loads = 2_000
    private static let clients = 8

    static func measure(
        _ ladder: Ladder, _ folder: WorkingFolder, _ options: Options, leftOut: inout [String]
    ) throws -> [Row] {
        guard FileManager.default.isExecutableFile(atPath: options.keychaind) else {
            leftOut.append(
                "the service: there is no \(options.keychaind). Build it with "
                    + "`swift build -c release --product keychaind` or name one with --keychaind")
            return []
        }
        Program.note("Measuring the service")
        return try shortRows(ladder.smallest(), folder, options.keychaind)
            + [memory(ladder.largest(), folder, options.keychaind)]
    }

    private static func shortRows(
        _ level: Level, _ folder: WorkingFolder, _ program: String
    ) throws -> [Row] {
        let service = try Service(program, directory: level.directory, in: folder)
        return try withExtendedLifetime(service) {
            [
                try load(level, service), try saves(level, service),
                try coldStart(service),
            ]
        }
    }

    /// In each round, a new process measures many loads through the service, and another new
    /// process as many embedded loads. This process measures the round trips.
    private static func load(_ level: Level, _ service: Service) throws -> Row {
        let embedded = ["KEYCHAIN_SERVICE": "embedded", "KEYCHAIN_DIRECTORY": level.directory]
        var figures: [[Double]] = [[], [], []]
        for _ in 0..<rounds {
            for (index, variables) in [service.variables, embedded].enumerated() {
                figures[index].append(
                    try ChildProcess.figure(
                        of: ["role:mean-load", "\(level.itemCount)", "\(loads)"], variables))
            }
            figures[2].append(try SocketFloor.roundTrip(loads))
        }
        let samples = figures.map { Samples($0) }
        return Row(
            "load through the service", samples[0], .time,
            [
                .times(
                    samples[0], of: samples[1] + samples[2],
                    "embedded load and a bare round trip", .serviceLoad)
            ])
    }

    /// The rate of saves by 8 processes at once, compared with one process.
    private static func saves(_ level: Level, _ service: Service) throws -> Row {
        try SaveRates.row(
            of: clients, "processes saving through the service", level.floor, .processes
        ) { count in
            try SaveRates.ofProcesses(count, service.variables)
        }
    }

    private static func coldStart(_ service: Service) throws -> Row {
        var times: [Double] = []
        for _ in 0..<31 {
            let run = try ChildProcess.run(
                try ChildProcess.ownPath(), ["role:first-load"], service.variables)
            times.append(try run.moment().nanoseconds(since: run.started))
        }
        let figure = Samples(times)
        return Row(
            "cold start through the service", figure, .time,
            [.itself(figure, .serviceColdStart)])
    }

    private static func memory(
        _ level: Level, _ folder: WorkingFolder, _ program: String
    ) throws -> Row {
        let service = try Service(program, directory: level.directory, in: folder)
        _ = try ChildProcess.figure(
            of: ["role:mean-load", "\(level.itemCount)", "\(loads)"], service.variables)
        let peak = Samples(service.peakMemory)
        let count = Format.grouped(Double(level.itemCount))
        return Row(
            "peak memory of the service, \(count) items", peak, .size,
            [.itself(peak, .serviceMemory)])
    }
}
