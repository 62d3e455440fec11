// BriefWaitTests: which waits for an answer are skipped after waits that ended without one.

import Testing

@testable import KeychainRuntime

@Suite struct `Waiting briefly for an answer` {
    /// Waits `count` times without an answer.
    /// - Returns: The indexes of the waits that looked for an answer.
    private func looks(_ wait: inout BriefWait, _ count: Int) -> [Int] {
        (0..<count).filter { _ in
            var hasLooked = false
            wait.wait {
                hasLooked = true
                return false
            }
            return hasLooked
        }
    }

    @Test func `each wait without an answer doubles the number of skipped waits, up to 64`() {
        var wait = BriefWait(time: .zero)
        #expect(looks(&wait, 300) == [0, 2, 5, 10, 19, 36, 69, 134, 199, 264])
    }

    @Test func `an answer ends the wait, and the next wait isn't skipped`() {
        var wait = BriefWait(time: .seconds(60))
        var count = 0
        for expected in [3, 6] {
            wait.wait {
                count += 1
                return count == expected
            }
            #expect(count == expected)
        }
    }

    @Test func `after an answer, the number of waits that are skipped begins with 1 again`() {
        var wait = BriefWait(time: .zero)
        _ = looks(&wait, 36)
        wait.wait { true }
        #expect(looks(&wait, 4) == [0, 2])
    }
}
