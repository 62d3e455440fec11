// device-identity: shows the identifier of this installation, and does with it what the app does.

import DeviceKeychain
import Foundation
import Keychain

let usage = """
    usage: device-identity [show | reset | export | import ID [--replace] | migrate]

    """

func run(_ arguments: [String]) throws {
    let service = DeviceIdentificationService()
    switch arguments {
    case [], ["show"]:
        print(try service.deviceId())
    case ["reset"]:
        print(try service.resetDeviceId() ? "forgotten" : "there was none")
    case ["export"]:
        print(try service.exportDeviceId())
    case let words where words.first == "import" && words.count == 2:
        try service.importDeviceId(words[1])
        print("imported")
    case let words where words.first == "import" && words.count == 3 && words[2] == "--replace":
        try service.importDeviceId(words[1], replacing: true)
        print("imported")
    case ["migrate"]:
        let defaults = UserDefaults(suiteName: StorageKey.oldDefaults.suite) ?? .standard
        print(try service.migrateDeviceId(from: defaults))
    default:
        FileHandle.standardError.write(Data(usage.utf8))
        exit(64)
    }
}

do {
    try run(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("device-identity: \(error.localizedDescription)\n".utf8))
    let failure = (error as? KeychainError).map(KeychainFailure.init)
    exit(failure == .itemNotFound ? 3 : 1)
}
