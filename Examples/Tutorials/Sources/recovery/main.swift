// recovery: adds or shows a recovery code. The article "Ask the user before showing a secret"
// explains this program.

import Foundation
import Security

do {
    if CommandLine.arguments.contains("add") {
        if let code = readLine() { try RecoveryCode().add(code) }
    } else {
        print(try RecoveryCode().load())
    }
} catch let error as StatusError {
    switch error.status {
    case errSecUserCanceled:
        print("You canceled.")
    case errSecInteractionNotAllowed:
        print("The keychain is locked, or you can't be asked here.")
    default:
        let text = SecCopyErrorMessageString(error.status, nil) as String?
        print(text ?? "Status \(error.status)")
    }
    exit(1)
}
