import Testing

@testable import KeychainRuntime

@Suite struct `Waiting briefly for an answer` {
    /// Waits several times without an answer, and returns which waits looked for one.
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

    @Test func `after a wait without an answer, the next ones are skipped, more each time`() {
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

    @Test func `an answer resets how many waits are skipped`() {
        var wait = BriefWait(time: .zero)
        _ = looks(&wait, 36)
        wait.wait { true }
        #expect(looks(&wait, 4) == [0, 2])
    }
}
