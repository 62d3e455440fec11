// TestDatabase on Apple's platforms: the SecItem functions, with a keychain of its own for each test
// behind them.

import Foundation
import KeychainCore
import KeychainSecItem
import StandIn
import Testing

@testable import Keychain

/// The way from the API to the system's keychain. There is one there: the typed one of other
/// platforms is the same here.
enum Way: CaseIterable, Sendable, CustomTestStringConvertible {
    case secItem

    static var typed: Way { .secItem }
    static var typedInMemory: Way { .secItem }

    var testDescription: String { "SecItem" }

    /// A database in front of a handler, which stands where the functions do otherwise.
    func database(_ handler: any RequestHandler) -> KeychainDatabase {
        // As for the system's keychain.
        KeychainDatabase(authenticating: { _ in
            KeychainConnection(handler: .substitute(handler), caller: AccessGroups([]))
        })
    }
}

struct TestDatabase {
    static let groups = ["group.main", "group.shared"]

    let system = StandInKeychain(accessGroups: groups)
    let database: KeychainDatabase

    init(_ way: Way) throws {
        let handler = SecItemHandler(in: system.run)
        database = KeychainDatabase(authenticating: {
            KeychainConnection(
                handler: .functions(handler.authenticating($0)), caller: AccessGroups([]))
        })
    }

    /// Sets a passcode and locks: items that are readable while unlocked only aren't any more.
    func lock() throws { try system.lock() }

    func unlock() throws { try system.unlock() }
}
