// Session: prints what the program does, and counts what isn't as expected.

import Foundation

@MainActor final class Session {
    private(set) var failureCount = 0
    private(set) var checkCount = 0

    func title(_ text: String) { print("\n\(text)") }

    func check(_ sentence: String, _ holds: Bool) {
        checkCount += 1
        if holds {
            print("  \(sentence)")
        } else {
            failureCount += 1
            print("  NOT SO: \(sentence)")
        }
    }

    /// A line of a table: its cells, padded to 44 characters, and whether it is as expected.
    func row(_ cells: [String], _ holds: Bool) {
        let padded = cells.dropLast().map { cell in
            cell + String(repeating: " ", count: max(0, 44 - cell.count))
        }
        check((padded + cells.suffix(1)).joined(separator: "  "), holds)
    }
}
