// sign-in: each run is one launch of the app. The commands `status` and `sign-in` restore the
// session that an earlier launch stored.

import Foundation
import Observation
import Security
import SignIn

#if canImport(Logging)
import Logging
#endif

let usage = """
    usage: sign-in [--verbose] sign-in [ACCOUNT]   ACCOUNT: the device's account at the service
           sign-in [--verbose] status
           sign-in [--verbose] sign-out

    """

/// Writes without buffering, so that the text precedes later output to standard error.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
}

var words = Array(CommandLine.arguments.dropFirst())
let isVerbose = words.first == "--verbose"
if isVerbose { words.removeFirst() }

#if canImport(Logging)
// On Apple's systems, the log is the unified log, which other programs show.
LoggingSystem.bootstrap { label in
    if isVerbose { return StreamLogHandler.standardError(label: label) }
    return SwiftLogNoOpLogHandler()
}
#endif

let environment = ProcessInfo.processInfo.environment
let model = AuthViewModel(
    authService: AppleAuthService(
        port: environment["SIGN_IN_PORT"].flatMap(UInt16.init) ?? 8755,
        account: words.count == 2 ? words[1] : NSUserName()))

switch (words.first, words.count) {
case ("status", 1):
    await model.restoreSession()
case ("sign-in", 1), ("sign-in", 2):
    await model.restoreSession()
    // Like an app, this program doesn't sign in while it is unknown whether a user is signed in.
    guard model.isSessionKnown else { break }
    withObservationTracking {
        _ = model.isLoading
    } onChange: {
        say("signing in…")
    }
    await model.signInWithApple()
case ("sign-out", 1):
    model.signOut()
default:
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
}

if let message = model.errorMessage {
    FileHandle.standardError.write(Data("sign-in: \(message)\n".utf8))
    let locked = KeychainError.unexpectedStatus(errSecInteractionNotAllowed)
    exit(message == locked.errorDescription ? 4 : 1)
}
say(model.userIdentifier.map { "signed in: \($0)" } ?? "signed out")
