// Presence: a key that is read once somebody entered the passcode.

import CryptoKit
import Foundation
import KeyStores
import LocalAuthentication
import Security

@MainActor func present(_ session: Session) throws {
    session.title("A key that somebody has to be present for")
    let store = GenericPasswordStore(service: service)
    let key = SymmetricKey(size: .bits256)
    guard
        let accessControl = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.userPresence], nil)
    else {
        session.check("there is an access control", false)
        return
    }
    let context = LAContext()
    context.localizedReason = "read the key"
    try store.delete(account: "present")
    try store.store(key, account: "present", accessControl: accessControl, context: context)
    session.check(
        "after the passcode the key is read",
        try store.read(SymmetricKey.self, account: "present", context: context) == key)
    session.check(
        "and again, in the same context, without asking",
        try store.read(SymmetricKey.self, account: "present", context: context) == key)
    try store.delete(account: "present")
}
