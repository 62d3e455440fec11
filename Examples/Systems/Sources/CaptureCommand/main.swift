// capture: the capture app without its camera. It encrypts files with the key of this device.

import Capture
import Foundation
import Keychain
import Logging

let usage = """
    usage: capture [--verbose] seal FILE       encrypts FILE as FILE.sealed
           capture [--verbose] open FILE NEW   decrypts FILE as NEW
           capture [--verbose] status          shows what is stored, and how it is protected

    """

struct Usage: Error {}

func run(_ arguments: ArraySlice<String>, _ keychain: KeychainService) throws {
    let device = CaptureDevice(keychain: keychain)
    let words = Array(arguments)
    switch (words.first, words.count) {
    case ("seal", 2):
        try register(device, keychain)
        let sealed = try device.seal(Data(contentsOf: URL(filePath: words[1])))
        try sealed.write(to: URL(filePath: words[1] + ".sealed"), options: .atomic)
        print("Sealed \(words[1]) as \(words[1]).sealed.")
    case ("open", 3):
        let capture = try device.open(Data(contentsOf: URL(filePath: words[1])))
        try capture.write(to: URL(filePath: words[2]), options: .atomic)
        print("Opened \(words[1]) as \(words[2]).")
    case ("status", 1):
        try showStatus(keychain)
    default:
        throw Usage()
    }
}

func register(_ device: CaptureDevice, _ keychain: KeychainService) throws {
    let isNew = try keychain.loadDeviceState() == nil
    let state = try device.register(model: "Linux computer", hasLidar: false)
    if isNew { print("Registered this device: \(state.attestationLevel.rawValue).") }
}

func showStatus(_ keychain: KeychainService) throws {
    for account in KeychainService.Account.all {
        let protection = try keychain.attributes(forKey: account)?.accessibility.description
        print("\(account): \(protection ?? "absent")")
    }
    let isRegistered = try keychain.loadDeviceState()?.registeredAt != nil
    print(isRegistered ? "This device is registered." : "This device isn't registered.")
}

var arguments = CommandLine.arguments.dropFirst()
let isVerbose = arguments.first == "--verbose"
if isVerbose { arguments.removeFirst() }
LoggingSystem.bootstrap { label in
    var handler = StreamLogHandler.standardError(label: label)
    // What fails is said once, below.
    handler.logLevel = isVerbose ? .debug : .critical
    return handler
}
do {
    try run(arguments, KeychainService())
} catch is Usage {
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
} catch {
    let error = error as NSError
    let advice = error.localizedRecoverySuggestion.map { " \($0)" } ?? ""
    FileHandle.standardError.write(
        Data("capture: \(error.localizedDescription)\(advice)\n".utf8))
    exit(1)
}
