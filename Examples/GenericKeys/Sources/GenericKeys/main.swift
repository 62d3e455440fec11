// GenericKeys: stores CryptoKit's keys in both ways and checks that they are read back. It exits
// with status 1 if a check fails. It never asks the user.

import CryptoKit
import Foundation
import KeyStores
import LocalAuthentication
import Security

let service = "org.example.generic-keys"
let label = "org.example.generic-keys.key"
let session = Session()

/// The status that a closure fails with: success if it doesn't throw, `nil` for other errors.
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
