// LogQueue: log lines on their way to standard error, which may block for a long time.
//   (1) Logging never blocks: a separate thread writes the lines, in order.
//   (2) The queue is bounded. A line that doesn't fit is dropped. The number of dropped lines is
//       reported in the next line that fits.

import Glibc
import NIOCore
import NIOPosix
import Synchronization

final class LogQueue: Sendable {
    private struct State {
        var lines: CircularBuffer<String> = []
        var byteCount = 0
        var lostCount = 0
        /// Whether the thread has lines to write or is writing one.
        var isWriting = false

        mutating func append(_ line: String) {
            lines.append(line)
            byteCount += line.utf8.count
        }
    }

    /// The maximum number of bytes in the queue: a few thousand lines.
    static let byteLimit = 1 << 20

    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let loss: @Sendable (Int) -> String
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - loss: Returns the line that reports how many lines were dropped.
    ///   - write: Writes a line. It may block.
    init(
        loss: @escaping @Sendable (Int) -> String, write: @escaping @Sendable (String) -> Void
    ) {
        self.loss = loss
        self.write = write
        thread.start()
    }

    func add(_ line: String) {
        let begins = state.withLock { state in
            guard state.byteCount + line.utf8.count <= Self.byteLimit else {
                state.lostCount += 1
                return false
            }
            if state.lostCount > 0 { state.append(loss(state.lostCount)) }
            state.lostCount = 0
            state.append(line)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { thread.submit { [self] _ in writeAll() } }
    }

    private func writeAll() {
        while let line = next() { write(line) }
    }

    private func next() -> String? {
        state.withLock { state in
            if state.lines.isEmpty, state.lostCount > 0 {
                defer { state.lostCount = 0 }
                return loss(state.lostCount)
            }
            guard let line = state.lines.popFirst() else {
                state.isWriting = false
                return nil
            }
            state.byteCount -= line.utf8.count
            return line
        }
    }

    /// Waits until all lines are written, at most for `time`.
    func end(within time: Duration) {
        let deadline = ContinuousClock.now + time
        while state.withLock({ $0.isWriting }), .now < deadline { usleep(2000) }
    }
}
