// LogQueue: log lines on their way to standard error, which may take none for a long time.
//   (1) Nobody who logs waits: a thread of its own writes the lines, in their order.
//   (2) The queue is bounded. A line that finds it full is lost; how many were is the next line for
//       which there is room.

import Glibc
import NIOCore
import NIOPosix
import Synchronization

final class LogQueue: Sendable {
    private struct State {
        var lines: CircularBuffer<String> = []
        var byteCount = 0
        var lostCount = 0
        /// Whether the thread has lines to write, or writes one.
        var isWriting = false

        mutating func append(_ line: String) {
            lines.append(line)
            byteCount += line.utf8.count
        }
    }

    /// The most bytes that wait: some thousand lines.
    static let byteLimit = 1 << 20

    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let loss: @Sendable (Int) -> String
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - loss: The line that says how many were lost.
    ///   - write: Writes a line, and may take as long as that takes.
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

    /// Waits until all lines are written, or the time is over.
    func end(within time: Duration) {
        let deadline = ContinuousClock.now + time
        while state.withLock({ $0.isWriting }), .now < deadline { usleep(2000) }
    }
}
