// SaveRates: the rate of durable saves by several concurrent writers.
//   (1) All writers save in the same period, which is agreed before it begins, so that starting
//       threads or processes isn't measured.
//   (2) How much faster several writers are than one also depends on the machine. So this gain is
//       compared with the gain of bare SQLite with group commit. The keychain and bare SQLite are
//       measured in alternation.

import BenchmarkFigures
import Foundation
import Keychain
import Synchronization

enum SaveRates {
    private static let rounds = 5
    private static let span = 1e9
    /// The time in nanoseconds that processes have for starting before the period begins. Threads
    /// have a tenth of it.
    private static let lead = 1e9

    /// The rate at which several threads of this process save to the keychain in embedded mode.
    static func measure(_ level: Level) throws -> [Row] {
        Program.note("Measuring saves of several threads")
        return [
            try row(of: 8, "threads saving, one process", level.floor, .threads) { count in
                try ofThreads(count) { try saves(from: $0, writer: $1) }
            }
        ]
    }

    /// The rate of `count` writers. It is compared with the rate of one writer, with the rate of
    /// `count` threads on bare SQLite, and with the rate of one writer times the gain on bare
    /// SQLite, which counts as at most 4.
    static func row(
        of count: Int, _ name: String, _ floor: Floor, _ limit: Limit,
        _ rate: (Int) throws -> Double
    ) throws -> Row {
        let floor = FloorQueue(floor)
        func floorRate(_ count: Int) throws -> Double {
            try ofThreads(count) { try saves(to: floor, from: $0, writer: $1) }
        }
        var rates = [[Double]](repeating: [], count: 4)
        for _ in 0..<rounds {
            rates[0].append(try rate(1))
            rates[1].append(try rate(count))
            rates[2].append(try floorRate(1))
            rates[3].append(try floorRate(count))
        }
        let (one, many) = (Samples(rates[0]), Samples(rates[1]))
        let gain = Samples(rates[3]) / Samples(rates[2])
        let expected = one.combined(with: gain) { $0 * min($1, 4) }
        return Row(
            "\(count) \(name)", many, .savesPerSecond,
            [
                .times(many, of: one, "one of them"),
                .times(many, of: Samples(rates[3]), "\(count) threads on bare SQLite, batched"),
                .times(
                    many, of: expected,
                    "one of them × the speedup on bare SQLite (\(Format.number(gain.median)), "
                        + "counted as at most 4)", limit),
            ])
    }

    static func ofProcesses(
        _ count: Int, _ variables: ChildProcess.Variables
    ) throws -> Double {
        let start = Instant.now.nanoseconds + UInt64(lead)
        return try together(count) { writer in
            try ChildProcess.figure(of: ["role:saves", "\(start)", "\(writer)"], variables)
        }
    }

    private static func ofThreads(
        _ count: Int, _ saves: @escaping @Sendable (UInt64, Int) throws -> Double
    ) throws -> Double {
        let start = Instant.now.nanoseconds + UInt64(lead / 10)
        return try together(count) { try saves(start, $0) }
    }

    /// Saves to the keychain for one period.
    /// - Returns: The number of saves per second.
    static func saves(from start: UInt64, writer: Int) throws -> Double {
        let keychain = Keychain(service: "org.example.rates")
        let key = KeychainKey<Data>("writer \(writer)")
        return try rate(from: start) { try keychain.save(Sample.secret(of: $0), for: key) }
    }

    private static func saves(
        to floor: FloorQueue, from start: UInt64, writer: Int
    ) throws -> Double {
        try rate(from: start) {
            try floor.replace(Sample.secret(of: $0), under: Sample.key(of: writer))
        }
    }

    /// Saves as often as possible for one period.
    private static func rate(from start: UInt64, _ save: (Int) throws -> Void) throws -> Double {
        // This save opens files and connections before the measurement.
        try save(0)
        let start = Instant(nanoseconds: start)
        while Instant.now.nanoseconds(since: start) < 0 { usleep(100) }
        var count = 0
        while Instant.now.nanoseconds(since: start) < span {
            try save(count)
            count += 1
        }
        return Double(count) / span * 1e9
    }

    private static func together(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> Double
    ) throws -> Double {
        let results = Mutex<[Result<Double, any Error>]>([])
        let ended = DispatchGroup()
        for writer in 0..<count {
            ended.enter()
            Thread.detachNewThread {
                let result = Result { try body(writer) }
                results.withLock { $0.append(result) }
                ended.leave()
            }
        }
        ended.wait()
        return try results.withLock { $0 }.reduce(0) { try $0 + $1.get() }
    }
}
