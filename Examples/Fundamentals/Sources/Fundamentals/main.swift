// Fundamentals: shows each rule of the four SecItem functions at work, and ends with 1 if one
// doesn't hold.
//
//     Fundamentals            the session, in a keychain without a passcode
//     Fundamentals locked     what a program sees that starts before the first unlock
//     Fundamentals unlocked   what is left when the passcode has been removed

import Foundation
import SecItemFundamentals

let queries = QueryBuilder(service: "org.example.fundamentals")
let session = Session()

do {
    switch CommandLine.arguments.dropFirst().first {
    case nil:
        try await manager(session)
        uniqueness(session)
        limits(session)
        results(session)
        dictionaries(session)
        statuses(session)
        accessibility(session)
        try await keys(session)
        removeEverything()
    case "locked": try await locked(session)
    case "unlocked": try await unlocked(session)
    default:
        print("usage: Fundamentals [locked | unlocked]")
        exit(64)
    }
} catch {
    print("NOT SO: \(error.localizedDescription)")
    exit(1)
}

print("\n\(session.checkCount) checks, \(session.failureCount) failed")
exit(session.failureCount == 0 ? 0 : 1)
