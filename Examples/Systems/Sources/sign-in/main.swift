// sign-in: one launch of the app for each call. What the last one knew, the next one restores.

import Foundation
import SignIn

let usage = """
    usage: sign-in sign-in USER | status | sign-out

    """

let session = Session()
switch Array(CommandLine.arguments.dropFirst()) {
case let words where words.first == "sign-in" && words.count == 2:
    await session.signIn(userIdentifier: words[1])
case ["status"]:
    await session.restore()
case ["sign-out"]:
    await session.signOut()
default:
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
}

if let error = session.error {
    FileHandle.standardError.write(Data("sign-in: \(error.localizedDescription)\n".utf8))
    exit(error.isLocked ? 4 : 1)
}
switch session.state {
case .signedIn(let userIdentifier): print("signed in: \(userIdentifier)")
case .signedOut: print("signed out")
case .unknown: print("unknown")
}
