// identity-racer: one of many processes that request the identifier of one installation at the same
// time. It opens the keychain, prints "ready", waits for the end of its input, requests the
// identifier and prints it.

import Foundation
import Keychain

let arguments = CommandLine.arguments
guard arguments.count == 3 else { exit(64) }

let identity = DeviceIdentity(
    service: arguments[2],
    in: KeychainDatabase(
        directory: URL(filePath: arguments[1], directoryHint: .isDirectory),
        accessGroups: ["racers"]))

func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

do {
    // The keychain is opened first, so that the processes race only for the identifier.
    guard try !identity.exists() else { exit(2) }
    say("ready")
    while readLine() != nil {}
    say(try identity.identifier())
} catch {
    say("failed: \(error) \(error.failureReason ?? "")")
    exit(1)
}
