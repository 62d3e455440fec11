// tv-stranger: a program without the entitlements of app and widget, which tries to access their
// item.

import Foundation
import Security
import TVRemote

/// The access group of app and widget, with the team identifier in place of
/// `$(AppIdentifierPrefix)`.
let accessGroup = "ABCDE12345.com.DaraConsultingInc.LGTVRemoteWidget"

/// The attributes that identify the item of app and widget.
func item() -> [String: Any] {
    [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: LGTVControlManager.Constants.keychainService,
        kSecAttrAccount as String: LGTVControlManager.Constants.keychainAccount,
        kSecUseDataProtectionKeychain as String: true,
    ]
}

func message(_ status: OSStatus) -> String {
    "\(status): \(SecCopyErrorMessageString(status, nil) as String? ?? "Unknown status.")"
}

func search(in group: String?) -> OSStatus {
    var query = item()
    query[kSecAttrAccessGroup as String] = group
    query[kSecReturnData as String] = true
    var result: CFTypeRef?
    return SecItemCopyMatching(query as CFDictionary, &result)
}

func add(to group: String) -> OSStatus {
    var attributes = item()
    attributes[kSecAttrAccessGroup as String] = group
    attributes[kSecValueData as String] = Data("of the stranger".utf8)
    return SecItemAdd(attributes as CFDictionary, nil)
}

func update(in group: String) -> OSStatus {
    var query = item()
    query[kSecAttrAccessGroup as String] = group
    let changes: [String: Any] = [kSecValueData as String: Data("of the stranger".utf8)]
    return SecItemUpdate(query as CFDictionary, changes as CFDictionary)
}

func delete(from group: String) -> OSStatus {
    var query = item()
    query[kSecAttrAccessGroup as String] = group
    return SecItemDelete(query as CFDictionary)
}

print("Without a group: \(message(search(in: nil)))")
print("In the app's group: \(message(search(in: accessGroup)))")
print(
    "Adding, updating and deleting there: "
        + "\(add(to: accessGroup)), \(update(in: accessGroup)), \(delete(from: accessGroup))")
