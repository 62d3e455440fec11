// tv-widget: the remote control's widget, a process of its own. It reads what the app stored.

import Foundation
import Keychain
import TVRemote

do {
    let manager = KeychainManager(accessGroup: KeychainManager.sharedAccessGroup)
    if let credentials = try manager.loadCredentials() {
        print("[on/off]  \(credentials)")
    } else {
        print("Pair a television in the app.")
    }
} catch {
    FileHandle.standardError.write(Data("tv-widget: \(error.localizedDescription)\n".utf8))
    exit(1)
}
