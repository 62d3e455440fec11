// Environment: the environment variables of this process.

import Foundation

enum Environment {
    /// - Returns: The value. `nil` if the variable isn't set or is empty.
    static func value(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Must be called only while no other thread runs.
    static func set(_ name: String, _ value: String) {
        // SAFETY: both strings live for the call, which copies them; no other thread reads the
        // environment meanwhile.
        _ = unsafe setenv(name, value, 1)
    }
}
