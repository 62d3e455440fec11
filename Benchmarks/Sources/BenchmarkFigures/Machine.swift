// Machine: what the figures were measured on.

import Foundation

package struct Machine: Encodable {
    let processor: String
    let coreCount: Int
    let system: String
    /// Processes that were running or waiting, over the last minute.
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

    /// One program measures; whatever else ran took processor or disk from it.
    package var isLoaded: Bool { max(loadAtStart, loadAtEnd - 1) > 0.5 }

    /// The most memory that a process ever had, in bytes.
    ///
    /// Not that of `getrusage`, which is kept over `exec` and so counts what the parent had.
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
