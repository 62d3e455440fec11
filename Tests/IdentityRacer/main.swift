// identity-racer: one of many processes that ask for the identifier of one installation at once.
// It opens the keychain, says "ready", waits for the end of its input, asks, and says what it got.

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
    // So that the race is for the identifier, and not for who opens the keychain first.
    guard try !identity.exists() else { exit(2) }
    say("ready")
    while readLine() != nil {}
    say(try identity.identifier())
} catch {
    say("failed: \(error) \(error.failureReason ?? "")")
    exit(1)
}
