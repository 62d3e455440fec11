// Session: prints the program's checks, and counts the checks and the failures.

import Foundation

@MainActor final class Session {
    private(set) var failureCount = 0
    private(set) var checkCount = 0

    func title(_ text: String) { print("\n\(text)") }

    func check(_ sentence: String, _ holds: Bool) {
        checkCount += 1
        if !holds { failureCount += 1 }
        print("  \(holds ? "" : "FAILED: ")\(sentence)")
    }
}
