// OldKeychain: keychains in earlier formats, as earlier versions of the program left them. Their
// files are in Tests/KeychainSQLiteTests/Fixtures.

import Foundation

package enum OldKeychain: String, CaseIterable, Sendable {
    /// The last commits are in the log, and an item was set aside because its secret doesn't open.
    case plain
    /// A keychain with a passcode and without a log.
    case passcode

    private static let fixtures = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "KeychainSQLiteTests/Fixtures/database-v1")

    package var state: KeychainState {
        switch self {
        case .plain:
            var state = KeychainState(values: [0: 9, 3: 40, 4: 8])
            state.setAside = [2: 7]
            return state
        case .passcode:
            var state = KeychainState(values: [0: 5, 1: 6, 2: 7, 3: 40, 1000: 9])
            state.passcode = 1
            return state
        }
    }

    /// A keychain whose database file has format version 2, with authenticated pages, but whose
    /// keybag, header and rows still have version 1. It has a passcode and no log, and two items of
    /// the service `mail`: the account `a` with the secret `secret a`, and the account `b` with
    /// another secret.
    package static var withAuthenticatedPages: FolderImage {
        FolderImage(
            of: fixtures.deletingLastPathComponent().appending(path: "database-v2/keybag-v1")
                .path(percentEncoded: false))
    }

    package var image: FolderImage {
        FolderImage(of: Self.fixtures.appending(path: rawValue).path(percentEncoded: false))
    }
}
