// GenericKeys: stores CryptoKit's keys as key items and as generic passwords, loads them, and
// checks that each loaded key is the same as the stored one. The program exits with status 1 if a
// check fails or an operation throws an error that no check expects. It never asks the user.

import CryptoKit
import Foundation
import KeyStores
import LocalAuthentication
import Security

let service = "org.example.generic-keys"
let label = "org.example.generic-keys.key"
let session = Session()

/// Returns the status of the `SecurityError` that a closure throws: `errSecSuccess` if the closure
/// doesn't throw, `nil` if it throws an error of another type.
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
    print("ERROR: \(error.localizedDescription)")
    exit(1)
}

print("\n\(session.checkCount) checks, \(session.failureCount) failed")
exit(session.failureCount == 0 ? 0 : 1)
