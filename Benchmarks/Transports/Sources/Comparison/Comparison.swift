// Comparison: how long the same requests take through each of etcd's two interfaces: gRPC, and the
// JSON gateway.

import Foundation

/// A client of one node of etcd.
public protocol EtcdInterface: Sendable {
    func put(_ key: String, _ value: [UInt8]) async throws
    /// Returns the values of at most `limit` keys: `first` and the keys after it, in order, up to
    /// but not including `end`.
    func range(from first: String, to end: String, limit: Int) async throws -> [[UInt8]]
    /// Calls `arrived` once when the watch exists, and then for each change of the key.
    func watch(_ key: String, _ arrived: @escaping @Sendable () -> Void) async throws
}

/// Measures a client, and prints one line for each kind of request.
public func compare(_ client: some EtcdInterface) async throws {
    let value = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for index in 0..<200 { try await client.put("warm/\(index)", value) }

    try await report("put of 700 bytes, one after another", count: 2000) {
        try await client.put("one/\($0)", value)
    }
    try await reportRate("put of 700 bytes, 64 at once", count: 20_000, atOnce: 64) {
        try await client.put("many/\($0 + 10_000_000)", value)
    }
    try await report("read of one key", count: 2000) { _ in
        let values = try await client.range(from: "one/7", to: "one/7\0", limit: 1)
        precondition(values == [value])
    }
    try await report("read of 1,000 keys", count: 50) { _ in
        let values = try await client.range(from: "many/", to: "many0", limit: 1000)
        precondition(values.count == 1000 && values.last == value)
    }

    let (arrivals, arrived) = AsyncStream<Void>.makeStream()
    let watch = Task { try await client.watch("watched") { arrived.yield() } }
    var iterator = arrivals.makeAsyncIterator()
    await iterator.next()
    try await report("put, until its watch reports it", count: 1000) { _ in
        try await client.put("watched", value)
        await iterator.next()
    }
    watch.cancel()

    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    let processor =
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    line("processor time of the client", "\(number(processor)) s")
    line("largest resident size", "\(usage.ru_maxrss / 1024) MiB")
}

/// Carries out requests one after another, and prints the median and the 99th percentile.
private func report(
    _ name: String, count: Int, _ request: (Int) async throws -> Void
) async throws {
    var times: [Double] = []
    for index in 0..<count {
        let start = ContinuousClock.now
        try await request(index)
        times.append((ContinuousClock.now - start) / .milliseconds(1))
    }
    times.sort()
    line(name, "\(number(times[count / 2])) ms, 99 %: \(number(times[count * 99 / 100])) ms")
}

/// Carries out requests, `atOnce` of them at any time, and prints how many were answered a second.
private func reportRate(
    _ name: String, count: Int, atOnce: Int,
    _ request: @escaping @Sendable (Int) async throws -> Void
) async throws {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<atOnce {
            group.addTask {
                for index in stride(from: worker, to: count, by: atOnce) {
                    try await request(index)
                }
            }
        }
        try await group.waitForAll()
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    line(name, "\(Int(Double(count) / seconds)) a second")
}

private func line(_ name: String, _ figure: String) {
    print(name.padding(toLength: 40, withPad: " ", startingAt: 0), figure)
}

private func number(_ value: Double) -> String { String(format: "%.2f", value) }

/// The port in the command line: `PROGRAM PORT`.
public func portArgument() -> Int {
    guard CommandLine.arguments.count == 2, let port = Int(CommandLine.arguments[1]) else {
        FileHandle.standardError.write(Data("Usage: PROGRAM PORT, the port of a node.\n".utf8))
        exit(64)
    }
    return port
}
