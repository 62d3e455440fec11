// tv-app: the app of the remote control. The app connects to a television and stores the
// credentials that the app's widget uses.

import Foundation
import TVRemote

let usage = """
    usage: tv-app connect IP-ADDRESS MAC-ADDRESS
           tv-app show
           tv-app clear

    """

/// A command line that the app accepts.
enum Command {
    case connect(ip: String, mac: String)
    case show
    case clear

    init?(_ words: [String]) {
        switch (words.first, words.count) {
        case ("connect", 3): self = .connect(ip: words[1], mac: words[2])
        case ("show", 1): self = .show
        case ("clear", 1): self = .clear
        default: return nil
        }
    }
}

/// The operations of the app. None of them runs on the main actor, because each call to the
/// keychain blocks its thread.
struct App {
    let manager = LGTVControlManager.shared
    let defaults = UserDefaults(suiteName: ConnectionStatus.suiteName)

    @concurrent
    static func run(_ command: Command) async throws {
        let app = App()
        app.migrate()
        switch command {
        case .connect(let ip, let mac): try await app.connect(ip: ip, mac: mac)
        case .show:
            print(try app.manager.loadCredentials().map { "\($0)" } ?? "No television.")
        case .clear: try app.clear()
        }
    }

    /// Migrates the client key. A failed migration is retried at the next start.
    private func migrate() {
        do {
            switch try manager.migrateClientKey() {
            case .nothingToMigrate: break
            case .migrated: print("Moved the client key of an earlier release to the keychain.")
            case .keptStoredKey: print("Removed the client key of an earlier release.")
            }
        } catch {
            report(error)
        }
    }

    private func connect(ip: String, mac: String) async throws {
        do {
            try await manager.connect(ip: ip, mac: mac)
        } catch {
            change { $0.isConnected = false }
            throw error
        }
        change { $0 = ConnectionStatus(isConnected: true, lastAddress: ip) }
        print("Connected to \(ip).")
    }

    private func clear() throws {
        try manager.clearCredentials()
        change { $0 = ConnectionStatus() }
        print("Cleared.")
    }

    private func change(_ body: (inout ConnectionStatus) -> Void) {
        guard let defaults else { return }
        var status = ConnectionStatus(in: defaults)
        body(&status)
        status.save(in: defaults)
    }
}

func report(_ error: any Error) {
    FileHandle.standardError.write(Data("tv-app: \(error.localizedDescription)\n".utf8))
}

guard let command = Command(Array(CommandLine.arguments.dropFirst())) else {
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
}
let environment = ProcessInfo.processInfo.environment
if let port = environment["LGTV_PORT"].flatMap(UInt16.init) {
    LGTVControlManager.shared.port = port
}
if let seconds = environment["LGTV_TIME_LIMIT"].flatMap(Double.init) {
    LGTVControlManager.shared.timeLimit = .seconds(seconds)
}
do {
    try await App.run(command)
} catch {
    report(error)
    exit(1)
}
