// identity-racer: one of many processes that ask for the identifier of one installation at once.
// It says "ready", waits for a line, asks, and says what it got.

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

say("ready")
_ = readLine()
do {
    say(try identity.identifier())
} catch {
    say("failed: \(error) \((error as? KeychainError)?.failureReason ?? "")")
    exit(1)
}
