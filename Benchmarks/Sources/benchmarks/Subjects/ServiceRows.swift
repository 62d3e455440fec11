// ServiceRows: a keychain that a service keeps, used by other processes.

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
                try load(level, service), try saves(service.variables, "the service"),
                try coldStart(service),
            ]
        }
    }

    /// Each figure is that of a process of its own, which loads many times.
    private static func load(_ level: Level, _ service: Service) throws -> Row {
        let embedded = ["KEYCHAIN_SERVICE=embedded", "KEYCHAIN_DIRECTORY=\(level.directory)"]
        var figures: [[Double]] = [[], [], []]
        for _ in 0..<rounds {
            for (index, variables) in [service.variables, embedded].enumerated() {
                figures[index].append(
                    try ChildProcess.figure(
                        of: ["role:mean-load", "\(level.itemCount)", "\(loads)"], variables))
            }
            figures[2].append(try SocketFloor.roundTrip(loads))
        }
        let medians = figures.map(median)
        return Row(
            subject: "load through the service", figure: medians[0],
            comparisons: [
                .times(
                    medians[0], of: medians[1] + medians[2],
                    "embedded load and a bare round trip", atMost: 3)
            ])
    }

    /// How many saves a second 8 processes make at once, against one.
    private static func saves(_ variables: [String], _ name: String) throws -> Row {
        try SaveRates.row(of: clients, "processes saving through \(name)") { count in
            try SaveRates.ofProcesses(count, variables)
        }
    }

    private static func coldStart(_ service: Service) throws -> Row {
        var times: [Double] = []
        for _ in 0..<31 {
            let run = try ChildProcess.run(
                try ChildProcess.ownPath(), ["role:first-load"], service.variables)
            times.append(try run.moment().nanoseconds(since: run.started))
        }
        let figure = median(times)
        return Row(
            subject: "cold start through the service", figure: figure,
            comparisons: [.atMost(30e6, figure, .time)])
    }

    private static func memory(
        _ level: Level, _ folder: WorkingFolder, _ program: String
    ) throws -> Row {
        let service = try Service(program, directory: level.directory, in: folder)
        _ = try ChildProcess.figure(
            of: ["role:mean-load", "\(level.itemCount)", "\(loads)"], service.variables)
        let peak = service.peakMemory
        let count = Format.grouped(Double(level.itemCount))
        return Row(
            subject: "peak memory of the service, \(count) items", figure: peak, unit: .size,
            comparisons: [.atMost(67_108_864, peak, .size)])
    }
}
