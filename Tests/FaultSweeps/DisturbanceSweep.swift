// DisturbanceSweep: other programs change, truncate or replace files of a keychain while a process
// writes.
//   (1) Even if the process fails or is killed, each change that the process acknowledged is there
//       afterwards, or a look-up reports damage. A look-up never reports "not found" for a saved
//       item, and never returns an earlier value.
//   (2) A recovery results in a sound keychain. If the written data is lost, so that only an
//       earlier state is left, the recovery reports that.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import TestPrograms

/// The ways in which other programs disturb the files.
package enum Disturbance: String, CaseIterable, Sendable {
    case removedSharedMemory = "shared memory removed"
    case zeroedSharedMemory = "shared memory zeroed"
    case garbledSharedMemory = "shared memory garbled"
    case cutSharedMemory = "shared memory cut to nothing"
    case removedLog = "log removed"
    case cutLog = "log cut by a byte"
    case emptiedLog = "log cut to nothing"
    case replacedDatabase = "database replaced by an earlier copy"
    case rewrittenDatabase = "database written over with an earlier copy"
    case openFolder = "folder open to others"
    case openDatabase = "database open to others"
    case openDeviceKey = "device key open to others"
    case removedKeybag = "keybag copy removed"
    case removedAnchor = "anchor removed"
}

package struct DisturbanceSweep {
    private let scratch: String
    private var random: SeededGenerator
    package private(set) var report = SweepReport("disturbances")

    /// - Parameters:
    ///   - scratch: A folder for the keychains.
    ///   - seed: The seed for the moments of the disturbances and kills, and for random bytes.
    package init(scratch: String, seed: UInt64) {
        self.scratch = scratch
        random = SeededGenerator(seed: seed)
    }

    /// Disturbs a number of processes in each way.
    ///
    /// - Parameter count: The number of processes for each kind of disturbance.
    /// - Throws: An error if a process can't be started.
    package mutating func sweep(_ count: Int) throws {
        for disturbance in Disturbance.allCases {
            for _ in 0..<count {
                report.count("disturbances")
                let root = scratch + "/disturbance-\(report["disturbances"])"
                try FolderImage().layOut(at: root)
                try check(disturbance, root)
                try? FileManager.default.removeItem(atPath: root)
            }
        }
    }

    private mutating func check(_ disturbance: Disturbance, _ root: String) throws {
        let directory = root + "/" + Scenario.place
        let history = (0..<10).map { Step.add($0, 10 + $0) }
        if let failure = StepRunner.run(history, in: directory) { throw failure }
        let earlier = FolderImage(of: directory)
        let before = KeychainState().states(through: history)[history.count]
        // The steps give a value to each account at most once, so a value from before an
        // acknowledged step is known to be wrong.
        var steps: [Step] = (0..<10).map { .put($0, 30 + $0) }
        steps += (10..<60).map { .put($0, 2 + $0 % 40) }
        steps += [.delete(3), .delete(20), .emptyLog, .put(61, 3), .put(62, 4)]
        guard let writer = TestProgram.path(of: "fault-writer") else {
            throw SweepImpossible(description: "fault-writer is not built.")
        }
        let child = try TestProgram(
            path: writer, ["carry-out", directory, "1"] + steps.map(\.description),
            environment: ["SWIFT_BACKTRACE": "enable=no"])
        let wanted = Int.random(in: 5...50, using: &random)
        var lines: [String] = []
        while lines.count < wanted, let line = child.line() { lines.append(line) }
        try disturb(disturbance, directory, earlier)
        let isKilled = Bool.random(using: &random)
        if isKilled {
            usleep(UInt32.random(in: 0...3_000, using: &random))
            child.kill()
        }
        lines += child.lines()
        let doneCount = lines.count { $0.hasPrefix("done ") }
        report.count("acknowledged steps", doneCount)
        if lines.contains(where: { $0.hasPrefix("failed") }) { report.count("noticed by writers") }
        if !child.endedWell, !isKilled, !lines.contains(where: { $0.hasPrefix("failed") }) {
            // If a file is truncated while it is mapped, the process ends with SIGBUS.
            report.count("crashed: \(disturbance.rawValue)")
            if disturbance != .cutSharedMemory { report.violate("\(disturbance): a crash") }
        }
        let states = before.states(through: steps)
        let possible = Array(states[doneCount...min(doneCount + 1, steps.count)])
        let place = "\(disturbance.rawValue), \(doneCount) acknowledged"
        let seen = Observation(of: directory, knowing: states)
        if seen.failureOfOpening != nil { report.count("refused") }
        if let lie = seen.lie(about: possible) { report.violate("\(place): \(lie)") }

        for (path, mode) in [("", 0o700), ("/keychain.db", 0o600), ("/device.key", 0o600)] {
            try? FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: directory + path)
        }
        do {
            let recovery = try KeychainEngine.recover(
                directory: directory, options: StepRunner.options)
            let end = Observation(of: directory, knowing: states)
            if !end.isSound {
                report.violate(
                    "\(place): unsound after recovery: \(end.failureOfOpening?.reason ?? "") "
                        + "\(end.check?.problems ?? [])")
            }
            if let lie = end.lie(about: possible) {
                // Without the log or the database some items are lost, and that must be reported.
                report.count("not recovered")
                if recovery.isComplete { report.violate("\(place): after recovery \(lie)") }
            }
            let former = end.answers.filter { account, answer in
                guard case .value(let value) = answer else { return answer == .foreign }
                return !possible.contains { $0.values[account] == value }
            }
            // If the log is lost, only an earlier state is left, and that must be reported.
            if !former.isEmpty, recovery.isComplete {
                report.violate("\(place): recovery brought back \(former)")
            }
        } catch {
            report.violate("\(place): not recovered: \(error)")
        }
    }

    private mutating func disturb(
        _ disturbance: Disturbance, _ directory: String, _ earlier: FolderImage
    ) throws {
        let files = FileManager.default
        func path(_ name: String) -> String { directory + "/" + name }
        func change(_ name: String, _ body: (FileHandle) throws -> Void) throws {
            // A file that doesn't exist can't be changed.
            guard let file = FileHandle(forUpdatingAtPath: path(name)) else { return }
            defer { try? file.close() }
            try body(file)
        }
        func write(_ content: Data, over name: String) throws {
            try change(name) { try $0.write(contentsOf: content) }
        }
        let memory = "keychain.db-shm"
        let log = "keychain.db-wal"
        switch disturbance {
        case .removedSharedMemory: try? files.removeItem(atPath: path(memory))
        case .zeroedSharedMemory: try write(Data(count: 32 << 10), over: memory)
        case .garbledSharedMemory:
            let garbage = (0..<32 << 10).map { _ in UInt8.random(in: 0...255, using: &random) }
            try write(Data(garbage), over: memory)
        case .cutSharedMemory: try change(memory) { try $0.truncate(atOffset: 0) }
        case .removedLog: try? files.removeItem(atPath: path(log))
        case .cutLog: try change(log) { try $0.truncate(atOffset: max(1, $0.seekToEnd()) - 1) }
        case .emptiedLog: try change(log) { try $0.truncate(atOffset: 0) }
        case .replacedDatabase:
            guard case .file(let content) = earlier.entries["keychain.db"] else { return }
            try? files.removeItem(atPath: path("keychain.db"))
            _ = files.createFile(
                atPath: path("keychain.db"), contents: content,
                attributes: [.posixPermissions: 0o600])
        case .rewrittenDatabase:
            guard case .file(let content) = earlier.entries["keychain.db"] else { return }
            try write(content, over: "keychain.db")
        case .openFolder:
            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
        case .openDatabase:
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path("keychain.db"))
        case .openDeviceKey:
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path("device.key"))
        case .removedKeybag: try? files.removeItem(atPath: path("keybag"))
        case .removedAnchor: try? files.removeItem(atPath: path("anchor"))
        }
    }
}
