// SaveRates: how many durable saves a second come from several writers at once.
//   (1) All write in the same span of time, which is agreed upon before it begins, so that the
//       start of a thread or a process isn't measured.

import Foundation
import Keychain
import Synchronization

enum SaveRates {
    private static let rounds = 5
    private static let span = 1e9
    /// Until the last of the writers has started.
    private static let lead = 1e9

    /// The threads of one process on its own keychain.
    static func measure() throws -> [Row] {
        Program.note("Measuring saves of several threads")
        return [try row(of: 8, "threads saving, one process", ofThreads)]
    }

    /// The rate of `count` writers against that of one.
    static func row(
        of count: Int, _ name: String, _ rate: (Int) throws -> Double
    ) throws -> Row {
        var rates: (many: [Double], one: [Double]) = ([], [])
        for _ in 0..<rounds {
            rates.one.append(try rate(1))
            rates.many.append(try rate(count))
        }
        let (many, one) = (median(rates.many), median(rates.one))
        return Row(
            subject: "\(count) \(name)", figure: many, unit: .savesPerSecond,
            comparisons: [.timesAtLeast(4, many, of: one, "one of them")])
    }

    static func ofProcesses(_ count: Int, _ variables: [String]) throws -> Double {
        let start = Instant.now.nanoseconds + UInt64(lead)
        return try together(count) { writer in
            try ChildProcess.figure(of: ["role:saves", "\(start)", "\(writer)"], variables)
        }
    }

    private static func ofThreads(_ count: Int) throws -> Double {
        let start = Instant.now.nanoseconds + UInt64(lead / 10)
        return try together(count) { try saves(from: start, writer: $0) }
    }

    /// Saves for one span, as fast as it can be done.
    /// - Returns: How many a second.
    static func saves(from start: UInt64, writer: Int) throws -> Double {
        let keychain = Keychain(service: "org.example.rates")
        // Opens what has to be open.
        let key = KeychainKey<Data>("writer \(writer)")
        try keychain.save(Sample.secret(of: 0), for: key)
        let start = Instant(nanoseconds: start)
        while Instant.now.nanoseconds(since: start) < 0 { usleep(100) }
        var count = 0
        while Instant.now.nanoseconds(since: start) < span {
            try keychain.save(Sample.secret(of: count), for: key)
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
