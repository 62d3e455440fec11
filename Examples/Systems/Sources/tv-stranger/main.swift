// tv-stranger: a program without the entitlement. It asks for the same item as the widget.

import Foundation
import Keychain
import TVRemote

func attempt(_ title: String, _ manager: KeychainManager) {
    do {
        let credentials = try manager.loadCredentials()
        print("\(title): \(credentials.map { "\($0)" } ?? "no such item")")
    } catch {
        print("\(title): \(error.localizedDescription)")
    }
}

attempt("Without a group", KeychainManager())
attempt("Naming the group", KeychainManager(accessGroup: KeychainManager.sharedAccessGroup))
