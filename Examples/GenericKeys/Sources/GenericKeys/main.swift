// GenericKeys: stores CryptoKit's keys in both ways and shows that they come back, and ends with 1
// if one doesn't. It asks the user for nothing.

import CryptoKit
import Foundation
import KeyStores
import LocalAuthentication
import Security

let service = "org.example.generic-keys"
let label = "org.example.generic-keys.key"
let session = Session()

/// The status that a piece of code fails with: success where it doesn't fail, nil for other errors.
func status(of body: () throws -> Void) -> OSStatus? {
    do {
        try body()
        return errSecSuccess
    } catch {
        return (error as? SecurityError)?.status
    }
}

do {
    try secKeys(session)
    try genericPasswords(session)
    try accessControl(session)
} catch {
    print("NOT SO: \(error.localizedDescription)")
    exit(1)
}

print("\n\(session.checkCount) checks, \(session.failureCount) failed")
exit(session.failureCount == 0 ? 0 : 1)
