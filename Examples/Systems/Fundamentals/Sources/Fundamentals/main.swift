// Fundamentals: shows each rule of the four SecItem functions at work, and ends with 1 if one
// doesn't hold.
//
//     Fundamentals            the session, in a keychain without a passcode
//     Fundamentals locked     what a program sees that starts before the first unlock
//     Fundamentals unlocked   what is left when the passcode has been removed
//
// With `--calls`, each call of the four functions is a line on standard error, after the queue that
// it was made on.

import Foundation

exit(await Session().run(Array(CommandLine.arguments.dropFirst())))
