// Fundamentals: demonstrates each rule of the four SecItem functions, and exits with status 1 if a
// rule doesn't hold.
//
//     Fundamentals            the session, in a keychain without a passcode
//     Fundamentals locked     what a program sees before the first unlock
//     Fundamentals unlocked   what is left after the passcode was removed
//
// With `--calls`, each call of the four functions is printed on standard error as a line that
// begins with the label of the dispatch queue that made the call, or with "no queue".

import Foundation

exit(await Session().run(Array(CommandLine.arguments.dropFirst())))
