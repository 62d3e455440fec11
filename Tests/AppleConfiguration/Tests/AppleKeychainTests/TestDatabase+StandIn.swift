// TestDatabase on Apple's platforms: the SecItem functions, with a separate keychain for each test.

import Foundation
import KeychainCore
import KeychainSecItem
import StandIn
import Testing

@testable import Keychain

/// The handlers between the API and a keychain. On Apple's platforms there is only one handler,
/// which calls the SecItem functions. `typed` and `typedInMemory`, which the shared tests name, are
/// aliases of that handler.
enum Way: CaseIterable, Sendable, CustomTestStringConvertible {
    case secItem

    static var typed: Way { .secItem }
    static var typedInMemory: Way { .secItem }

    var testDescription: String { "SecItem" }

    /// A database in front of a handler that replaces the SecItem functions.
    func database(_ handler: any RequestHandler) -> KeychainDatabase {
        // The list of access groups is empty, as it is with the system's keychain.
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

    /// Sets a passcode and locks the keychain. Items that are readable only while the keychain is
    /// unlocked can then no longer be read.
    func lock() throws { try system.lock() }

    func unlock() throws { try system.unlock() }
}
