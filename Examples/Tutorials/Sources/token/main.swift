// token: signs in, signs out, or prints whether a user is signed in. The article "Keep a token"
// explains this program.

import Foundation
import Keychain

let session = Session()
do {
    switch CommandLine.arguments.dropFirst().first {
    case "sign-in":
        if let token = readLine() { try session.signIn(with: token) }
    case "sign-out":
        try session.signOut()
    default:
        if let token = try session.token() {
            print("Signed in. The token ends in \(token.suffix(4)).")
        } else {
            print("Signed out.")
        }
    }
} catch KeychainError.Code.interactionNotAllowed {
    print("The keychain is locked. Unlock it and try again.")
    exit(1)
} catch {
    print(error.localizedDescription)
    exit(1)
}
