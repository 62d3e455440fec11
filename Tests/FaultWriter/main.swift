// fault-writer: the program that fault tests run in many processes, kill, and deprive of disk
// space.

import FaultSweeps
import Foundation
import KeychainEngine
import KeychainCore
import TestPrograms

let arguments = CommandLine.arguments
do {
    switch arguments.dropFirst().first {
    case "write":
        try WritingLoop(
            directory: arguments[2], from: Int(arguments[3]) ?? 0,
            runtime: arguments.dropFirst(4).first
        ).run()
    case "write-threads":
        try WritingThreads(directory: arguments[2], from: arguments[3...].map { Int($0) ?? 0 })
            .run()
    case "crowd":
        try Crowd(
            directory: arguments[2], worker: Int(arguments[3]) ?? 0,
            runtime: arguments.dropFirst(4).first
        ).run()
    case "fill": try Filling(directory: arguments[2], limit: Int(arguments[3]) ?? 0).run()
    case "sweep":
        try FlipSweep(
            master: arguments[2], work: arguments[3], file: arguments[4],
            range: (Int(arguments[5]) ?? 0)..<(Int(arguments[6]) ?? 0),
            step: Int(arguments[7]) ?? 1
        ).run()
    case "make": try Probe(directory: arguments[2]).prepare()
    case "probe": Probe(directory: arguments[2]).run()
    case "probe-as-nobody":
        try becomeNobody()
        Probe(directory: arguments[2]).run()
    case "count": Probe(directory: arguments[2]).count()
    case "count-three-times":
        try Probe(directory: arguments[2]).countThreeTimes(writingTo: arguments[3])
    case "seal-pages": try PageSeal.change(arguments[2] + "/keychain.db")
    case "print-to-closed-streams": try Probe(directory: arguments[2]).printToClosedStreams()
    case "full-disk": try FullDisk(directory: arguments[2]).run()
    case "full-disk-threads": try FullDiskOfThreads(directory: arguments[2]).run()
    case "leave-changes": try LeftChanges(directory: arguments[2]).run()
    case "recover":
        try KilledRecovery(directory: arguments[2], callNumber: Int(arguments[3]) ?? 0).run()
    case "leave-log": try LeftLog(directory: arguments[2]).run()
    case "obey":
        try Obedience(directory: arguments[2], service: arguments[3], group: arguments[4]).run()
    case "carry-out":
        var isDone = false
        var runner = StepRunner(directory: arguments[2])
        let steps = arguments[4...].compactMap { Step($0) }
        runner.run(steps, attempts: Int(arguments[3]) ?? 1) { number, failure in
            acknowledge(
                failure.map { "failed \(number) \($0.status.rawValue) \($0.reason)" }
                    ?? "done \(number)")
            isDone = failure == nil
        }
        exit(isDone && steps.count == arguments.count - 4 ? 0 : 2)
    default: exit(64)
    }
} catch {
    print("failed: \(error)")
    exit(1)
}
