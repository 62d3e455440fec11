// tv-app: the remote control's app. It pairs televisions, and the widget uses what it stored.

import Foundation
import Keychain
import TVRemote

let usage = """
    usage: tv-app pair IP-ADDRESS MAC-ADDRESS   reads the television's key from standard input
           tv-app show
           tv-app clear

    """

struct NoAnswer: LocalizedError {
    var errorDescription: String? { "The television gave no key." }
}

func migrate(_ manager: KeychainManager) {
    guard let defaults = UserDefaults(suiteName: KeychainManager.sharedDefaultsSuite) else {
        return
    }
    for item in manager.migrateCredentials(from: defaults).items
    where item.outcome != .nothingToMigrate {
        print("Credentials of an earlier release: \(item.outcome).")
    }
}

func pair(_ manager: KeychainManager, _ ipAddress: String, _ macAddress: String) throws {
    var isNew = false
    let credentials = try manager.pair(ipAddress: ipAddress, macAddress: macAddress) {
        guard let key = readLine(), !key.isEmpty else { throw NoAnswer() }
        isNew = true
        return key
    }
    print(isNew ? "Paired with \(credentials.ipAddress)." : "Paired already: \(credentials).")
}

do {
    let manager = KeychainManager(accessGroup: KeychainManager.sharedAccessGroup)
    migrate(manager)
    let words = Array(CommandLine.arguments.dropFirst())
    switch (words.first, words.count) {
    case ("pair", 3):
        try pair(manager, words[1], words[2])
    case ("show", 1):
        print(try manager.loadCredentials().map { "\($0)" } ?? "No television.")
    case ("clear", 1):
        try manager.clearCredentials()
        print("Forgotten.")
    default:
        FileHandle.standardError.write(Data(usage.utf8))
        exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("tv-app: \(error.localizedDescription)\n".utf8))
    exit(1)
}
