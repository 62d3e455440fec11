// LogQueueTests: a log whose sink blocks, and endless refusals.

import Dispatch
import Glibc
import KeychainCrypto
import Synchronization
import Testing

@testable import KeychainDaemon

@Suite struct `A log that is slow` {
    /// A sink that blocks until the test opens it.
    private final class Sink: Sendable {
        let written = Mutex<[String]>([])
        private let isOpen = DispatchSemaphore(value: 0)

        func write(_ line: String) {
            isOpen.wait()
            isOpen.signal()
            written.withLock { $0 += line.split(separator: "\n").map { "\($0)\n" } }
        }

        func open() { isOpen.signal() }
    }

    @Test func `a blocked log blocks no caller, and the number of lost lines is logged`() {
        let sink = Sink()
        let queue = LogQueue(loss: { "lost \($0)\n" }, write: sink.write)
        let line = String(repeating: "x", count: 1023) + "\n"
        let fitting = LogQueue.byteLimit / 1024
        // Up to 4 lines, which the queue passes to the sink together, may already have left the
        // queue. So between 97 and 101 lines don't fit.
        for _ in 0..<fitting + 101 { queue.add(line) }
        let waited = ContinuousClock().measure { queue.end(within: .milliseconds(50)) }
        #expect(waited < .seconds(5))
        sink.open()
        queue.end(within: .seconds(60))
        queue.add("after\n")
        queue.end(within: .seconds(60))
        let written = sink.written.withLock { $0 }
        let lost = written.compactMap { $0.wholeMatch(of: /lost (\d+)\n/)?.1 }.compactMap {
            Int($0)
        }
        #expect(lost == [fitting + 101 - written.count { $0 == line }])
        #expect((97...101).contains(lost.first ?? 0))
        #expect(written.last == "after\n")
    }

    @Test func `the loss of a line that is too long is logged although no other line follows`() {
        let written = DispatchSemaphore(value: 0)
        let queue = LogQueue(loss: { "lost \($0)\n" }) { lines in
            #expect(lines == "lost 1\n")
            written.signal()
        }
        queue.add(String(repeating: "x", count: LogQueue.byteLimit + 1))
        #expect(written.wait(timeout: .now() + 60) == .success)
        queue.end(within: .seconds(60))
    }

    @Test func `all log lines are written before the log queue ends`() {
        let written = Mutex<[String]>([])
        let queue = LogQueue(loss: { "lost \($0)\n" }) { lines in
            #expect(lines.utf8.count <= PIPE_BUF)
            written.withLock { $0.append(lines) }
        }
        for number in 0..<1000 { queue.add("\(number)\n") }
        queue.end(within: .seconds(60))
        #expect(written.withLock { $0.joined() } == (0..<1000).map { "\($0)\n" }.joined())
    }

    @Test func `no log line is lost if the log is a non-blocking pipe that is full`() throws {
        let (reading, writing) = try #require(Descriptor.pipe())
        try #require(fcntl(writing.number, F_SETFL, O_NONBLOCK) == 0)
        let queue = LogQueue(loss: { "lost \($0)\n" }) {
            DaemonLogHandler.write($0, to: writing.number)
        }
        let lines = (0..<20_000).map { "line \($0)\n" }
        for line in lines { queue.add(line) }
        var received: [UInt8] = []
        let expected = lines.joined()
        while received.count < expected.utf8.count {
            let ready = Descriptor.ready(among: [reading.number], milliseconds: 60_000)
            try #require(ready?[0] == true, "a line was lost")
            let bytes = try #require(Descriptor.bytes(atMost: 1 << 16, of: reading.number))
            try #require(!bytes.isEmpty)
            received += bytes
        }
        #expect(String(decoding: received, as: UTF8.self) == expected)
        queue.end(within: .seconds(60))
    }

    @Test func `a few refusals of each kind are logged, and the others are counted`() {
        let now = Mutex(ContinuousClock.now)
        let log = LogLines()
        let audit = AuditLog(
            log: log.logger(), tally: RefusalTally(now: { now.withLock { $0 } }))
        for _ in 0..<10_000 { audit.refused(.tooMany(uid: 7), 7) }
        for pid in 0..<pid_t(100) { audit.refused(.wrongNonce(pid: pid), 7) }
        #expect(log.all.count == 2 * RefusalTally.toldCount)
        audit.tellCounts()
        #expect(log.all.count == 2 * RefusalTally.toldCount)
        now.withLock { $0 += RefusalTally.interval }
        audit.tellCounts()
        let counts = log.all.dropFirst(2 * RefusalTally.toldCount)
        #expect(
            Array(counts) == [
                "warning refused count=9995 uid=7 reason=\"too many connections\"\n",
                "warning refused count=95 uid=7 reason=\"wrong nonce\"\n",
            ])
        // In the next interval, a few refusals are logged again.
        audit.refused(.tooMany(uid: 7), 7)
        #expect(log.all.count == 2 * RefusalTally.toldCount + 3)
    }

    @Test func `the refusals of one user don't suppress those of another`() {
        let log = LogLines()
        let audit = AuditLog(log: log.logger())
        for number in 0..<1000 {
            audit.refused(.wrongNonce(pid: 1), 7)
            audit.withoutAccess(
                PeerName(pid: 1, uid: 7, identity: .socket("\(number)")), "a reason")
        }
        let told = log.all.count
        audit.refused(.wrongNonce(pid: 2), 8)
        audit.withoutAccess(PeerName(pid: 2, uid: 8, identity: .socket("other")), "a reason")
        #expect(log.all.count == told + 2)
        // Each refusal is logged or counted.
        audit.tellCounts(atOnce: true)
        let counted = log.all.dropFirst(told + 2).reduce(0) { sum, line in
            let count = line.split(separator: " ").first { $0.hasPrefix("count=") }
            return sum + (count.flatMap { Int($0.dropFirst(6)) } ?? 0)
        }
        #expect(told + counted == 2000)
    }

    @Test func `refusals are counted for a bounded number of users`() {
        let log = LogLines()
        let audit = AuditLog(log: log.logger())
        for uid in 0..<10_000 { audit.refused(.otherUser(uid: UInt32(uid)), UInt32(uid)) }
        let told = log.all.count
        #expect(told == RefusalTally.userCount + RefusalTally.toldCount)
        audit.tellCounts(atOnce: true)
        #expect(log.all.count == told + 1)
        #expect(log.all.last?.contains("count=\(10_000 - told) reason=\"other users\"") == true)
    }
}
