// LogQueue: log lines on their way to standard error, which may block for a long time.
//   (1) Logging never blocks: a separate thread writes the lines, in order. When it has written all
//       lines, the thread waits a few milliseconds for further ones and writes them together, so
//       that a busy service doesn't wake the thread for each line.
//   (2) The queue is bounded. A line that doesn't fit is dropped. The number of dropped lines is
//       reported in a line of its own, before the next line that fits or when the queue is empty.

import Glibc
import NIOCore
import NIOPosix
import Synchronization

final class LogQueue: Sendable {
    private struct State {
        var lines: CircularBuffer<String> = []
        var byteCount = 0
        var lostCount = 0
        /// Whether the thread has lines to write, is writing some, or waits for further ones.
        var isWriting = false

        mutating func append(_ line: String) {
            lines.append(line)
            byteCount += line.utf8.count
        }

        mutating func removeFirst() -> String? {
            guard let line = lines.popFirst() else { return nil }
            byteCount -= line.utf8.count
            return line
        }

        /// Ends the thread's work if there is nothing to write. Returns whether it has ended.
        mutating func endIfDone() -> Bool {
            isWriting = !lines.isEmpty || lostCount > 0
            return !isWriting
        }
    }

    /// The maximum number of bytes in the queue: a few thousand lines. Only the line that reports
    /// dropped lines can make the queue larger.
    static let byteLimit = 1 << 20
    /// The maximum number of bytes of lines that are written together. A pipe takes that many at
    /// once, so they aren't mixed with what other processes write to it. A longer line is written
    /// alone.
    private static let batchByteLimit = Int(PIPE_BUF)
    /// How long the thread waits for further lines after it has written all, in microseconds.
    private static let patience: UInt32 = 5000

    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let loss: @Sendable (Int) -> String
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - loss: Returns the line that reports how many lines were dropped.
    ///   - write: Writes one or more lines. It may block.
    init(
        loss: @escaping @Sendable (Int) -> String, write: @escaping @Sendable (String) -> Void
    ) {
        self.loss = loss
        self.write = write
        thread.start()
    }

    func add(_ line: String) {
        let begins = state.withLock { state in
            if state.byteCount + line.utf8.count <= Self.byteLimit {
                if state.lostCount > 0 { state.append(loss(state.lostCount)) }
                state.lostCount = 0
                state.append(line)
            } else {
                state.lostCount += 1
            }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { thread.submit { [self] _ in writeAll() } }
    }

    private func writeAll() {
        while true {
            while let lines = next() { write(lines) }
            usleep(Self.patience)
            if state.withLock({ $0.endIfDone() }) { return }
        }
    }

    private func next() -> String? {
        state.withLock { state in
            if state.lines.isEmpty, state.lostCount > 0 {
                defer { state.lostCount = 0 }
                return loss(state.lostCount)
            }
            guard var lines = state.removeFirst() else { return nil }
            while let next = state.lines.first,
                lines.utf8.count + next.utf8.count <= Self.batchByteLimit
            {
                lines += next
                _ = state.removeFirst()
            }
            return lines
        }
    }

    /// Waits until all lines are written, at most for `time`.
    func end(within time: Duration) {
        let deadline = ContinuousClock.now + time
        while state.withLock({ $0.isWriting }), .now < deadline { usleep(2000) }
    }
}
