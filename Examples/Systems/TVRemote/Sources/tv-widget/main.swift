// tv-widget: the widget of the remote control, which is a separate process. It connects with the
// credentials that the app stored.

import Foundation
import TVRemote

/// The lines that the widget shows. They are created off the main actor. An error of the keychain
/// is not shown as missing credentials.
@concurrent
func contents() async throws -> [String] {
    let manager = LGTVControlManager.shared
    let state: String
    do {
        guard let credentials = try await manager.connectWithStoredCredentials() else {
            return ["Setup Required"]
        }
        state = "Connected to \(credentials)."
    } catch let error as LGTVControlError {
        state = error.localizedDescription
    }
    guard let defaults = UserDefaults(suiteName: ConnectionStatus.suiteName) else { return [state] }
    let status = ConnectionStatus(in: defaults)
    return [
        state,
        "The app is \(status.isConnected ? "connected" : "not connected"); its last address is "
            + "\(status.lastAddress ?? "unknown").",
    ]
}

if let port = ProcessInfo.processInfo.environment["LGTV_PORT"].flatMap(UInt16.init) {
    LGTVControlManager.shared.port = port
}
do {
    for line in try await contents() { print(line) }
} catch {
    FileHandle.standardError.write(Data("tv-widget: \(error.localizedDescription)\n".utf8))
    exit(1)
}
