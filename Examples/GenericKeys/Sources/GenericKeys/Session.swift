// Session: prints the checks of the program, and counts those that fail.

import Foundation

@MainActor final class Session {
    private(set) var failureCount = 0
    private(set) var checkCount = 0

    func title(_ text: String) { print("\n\(text)") }

    func check(_ sentence: String, _ holds: Bool) {
        checkCount += 1
        if !holds { failureCount += 1 }
        print("  \(holds ? "" : "NOT SO: ")\(sentence)")
    }
}
