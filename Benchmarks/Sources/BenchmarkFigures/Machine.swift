// Machine: the machine that the figures were measured on.

import Foundation

package struct Machine: Encodable {
    let processor: String
    let coreCount: Int
    let system: String
    /// The average number of running or waiting processes in the last minute.
    let loadAtStart: Double
    package var loadAtEnd: Double

    package static func current() -> Machine {
        let load = loadAverage()
        let processor = text("/proc/cpuinfo").split(separator: "\n")
            .first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
        return Machine(
            processor: processor ?? "unknown",
            coreCount: ProcessInfo.processInfo.activeProcessorCount,
            system: ProcessInfo.processInfo.operatingSystemVersionString,
            loadAtStart: load, loadAtEnd: load)
    }

    package static func loadAverage() -> Double {
        text("/proc/loadavg").split(separator: " ").first.flatMap { Double($0) } ?? .nan
    }

    /// Whether other processes took so much processor or disk time that their load was above 0.5.
    /// The measuring process itself accounts for a load of 1 at the end.
    package var isLoaded: Bool { max(loadAtStart, loadAtEnd - 1) > 0.5 }

    /// The peak memory of a process in bytes.
    ///
    /// `getrusage` isn't used: its value survives `exec`, and so includes the memory of the parent.
    package static func peakMemory(ofProcess name: String = "self") -> Double {
        let line = text("/proc/\(name)/status").split(separator: "\n")
            .first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(separator: " ").compactMap { Double($0) }.first
        return (kibibytes ?? .nan) * 1024
    }

    private static func text(_ path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }
}
