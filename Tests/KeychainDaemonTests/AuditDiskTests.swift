// AuditDiskTests: when the audit's records reach the disk. The test replaces the clock and the
// disk.

import Dispatch
import Foundation
import KeychainCrypto
import Synchronization
import Testing

@testable import KeychainDaemon

/// A disk that records the calls of the audit's thread. Whenever that thread waits, it waits until
/// the test ends the wait.
private final class Disk: Sendable {
    private struct State {
        var rests: [Duration] = []
        /// The name and size of the file at each synchronization.
        var synchronized: [(name: String, byteCount: Int64)] = []
        var onSynchronize: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 0)

    var rests: [Duration] { state.withLock { $0.rests } }
    var synchronized: [(name: String, byteCount: Int64)] { state.withLock { $0.synchronized } }

    var disk: AuditDisk {
        AuditDisk(
            rest: { [self] time, end in
                state.withLock { $0.rests.append(time) }
                gate.wait()
                return end.wait(timeout: .now()) == .success
            },
            synchronize: { [self] file in
                let path = Files.target(ofLink: "/proc/self/fd/\(file)") ?? "?"
                let count = Files.status(of: path)?.identity.size ?? -1
                let then = state.withLock { state in
                    state.synchronized.append((URL(filePath: path).lastPathComponent, count))
                    defer { state.onSynchronize = nil }
                    return state.onSynchronize
                }
                then?()
                return true
            })
    }

    /// Ends one wait of the thread.
    func passTime() { gate.signal() }

    /// Runs `body` during the next synchronization.
    func onSynchronize(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onSynchronize = body }
    }
}

@Suite struct `Writing the audit to disk` {
    @Test func `records reach the disk within a second, and a burst shares one synchronization`()
        throws
    {
        let sample = try AuditSample()
        let disk = Disk()
        let trail = try sample.trail(disk.disk)
        // The thread waits after the first record, which says that the audit was started.
        try eventually("the thread waits") { disk.rests.count == 1 }
        for number in 0..<100 { try AuditSample.request(trail, "account \(number)") }
        #expect(disk.synchronized.isEmpty)
        let burst = try sample.byteCount()
        disk.onSynchronize { try? AuditSample.request(trail, "while the disk is at work") }
        disk.passTime()
        // A record written during a synchronization starts the next burst.
        try eventually("the thread waits again") { disk.rests.count == 2 }
        let first = disk.synchronized
        let file = URL(filePath: try sample.file).lastPathComponent
        #expect(first.map(\.name) == [file, "anchor"])
        #expect(first.first?.byteCount == burst)
        let all = try sample.byteCount()
        #expect(all > burst)
        disk.passTime()
        try eventually("the second burst is synchronized") { disk.synchronized.count == 4 }
        #expect(disk.synchronized[2].byteCount == all)
        // Without new records the thread doesn't wait or synchronize again. A wrong wait or
        // synchronization would begin at once, so the test notices it after a short pause.
        usleep(50_000)
        #expect(disk.rests.count == 2)
        #expect(disk.synchronized.count == 4)
        for _ in 0..<2 { disk.passTime() }
        trail.stop()
        let end = try sample.byteCount()
        #expect(disk.synchronized.suffix(2).first?.byteCount == end)
        // Each wait is shorter than a second, so that the synchronization itself also ends within a
        // second of the first record.
        #expect(disk.rests.allSatisfy { $0 > .zero && $0 < .seconds(1) }, "\(disk.rests)")
    }

    // Prints how much time it takes to record a request. The time is not compared with a limit.
    @Test func `an audit of 5000 requests verifies, and the time per record is printed`() throws {
        let sample = try AuditSample()
        let trail = try sample.trail()
        let count = 5000
        let begun = ContinuousClock.now
        for number in 0..<count { try AuditSample.request(trail, "account \(number)") }
        let time = begun.duration(to: .now) / count
        trail.stop()
        let found = try sample.verify()
        #expect(found.findings.isEmpty && found.validCount == count + 2)
        print("audit | a record takes \(Int(time / .microseconds(1))) microseconds")
    }
}
