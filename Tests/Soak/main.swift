// soak: runs the long sweeps, which disturb the store in many ways and check whether its guarantees
// hold.
//   (1) All random choices of the sweeps are derived from the seed, which is printed first.
//   (2) Each sweep prints one or more reports. If there was a violation, or a sweep couldn't be
//       carried out, the program ends with status 1.

import FaultSweeps
import Foundation

/// Says on standard error why the arguments are wrong, and ends the program.
func refuse(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("soak: \(reason)\n".utf8))
    exit(64)
}

var arguments = Array(CommandLine.arguments.dropFirst())
var seed = UInt64.random(in: 0..<1 << 32)
var count: Int?
while let option = arguments.first, option.hasPrefix("--") {
    guard ["--seed", "--count"].contains(option) else {
        refuse("unknown option \(option); the options are --seed N and --count N")
    }
    guard arguments.count > 1, let number = UInt64(arguments[1]) else {
        refuse("\(option) requires a number from 0 to \(UInt64.max)")
    }
    if option == "--seed" { seed = number } else { count = Int(clamping: number) }
    arguments.removeFirst(2)
}
let names = arguments.isEmpty ? SoakSweep.allCases.map(\.rawValue) : arguments
let sweeps = names.map { name in
    guard let sweep = SoakSweep(rawValue: name) else {
        let all = SoakSweep.allCases.map(\.rawValue).joined(separator: " ")
        refuse("unknown sweep \(name); there are \(all)")
    }
    return sweep
}

/// Writes a line without buffering, so that it is visible while the next sweep runs.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

say("seed \(seed)")
let scratch = NSTemporaryDirectory() + "soak-\(ProcessInfo.processInfo.processIdentifier)"
try FileManager.default.createDirectory(
    atPath: scratch, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
var isGood = true
for sweep in sweeps {
    do {
        try sweep.run(scratch: scratch, seed: seed, count: count) { report in
            // One cause can lead to many violations, so only the first 40 are printed.
            for violation in report.violations.prefix(40) { say("WRONG \(violation)") }
            if report.violations.count > 40 { say("WRONG: there are further violations") }
            say(report.summary)
            isGood = isGood && report.violations.isEmpty
        }
    } catch {
        say("\(sweep.rawValue): \(error)")
        isGood = false
    }
}
try? FileManager.default.removeItem(atPath: scratch)
say(isGood ? "no violation" : "guarantees were violated, or a sweep failed")
exit(isGood ? 0 : 1)
