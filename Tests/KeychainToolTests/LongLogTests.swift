// The write-ahead log that a killed program leaves, after a command that only reads.

import Foundation
import KeychainCore
import KeychainEngine
import Testing

@Suite struct `The long log of a killed program` {
    @Test(arguments: ["get -s mail", "info -s mail", "list"])
    func `a command that only reads empties a long log`(_ command: String) throws {
        let home = try TestHome()
        let engine = try KeychainEngine.open(directory: home.path + "/used", options: .testing)
        defer { engine.close() }
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: [.service: .string("mail")],
                    data: Data(repeating: 65, count: 300_000))), as: AccessGroups(["default"]))
        // A killed program leaves its folder in the state of this copy.
        let outcome = try home.run(
            "cp -rp used left && wc -c <left/keychain.db-wal "
                + "&& KEYCHAIN_DIRECTORY=~/left keychainctl \(command) >shown "
                + "&& cat left/keychain.db-wal 2>/dev/null | wc -c")
        #expect(outcome.ending == .exit(0), "\(outcome.errors)")
        let sizes = outcome.output.split(separator: "\n").compactMap { Int($0) }
        try #require(sizes.count == 2, "\(outcome.output)")
        #expect(sizes[0] > 256 << 10)
        #expect(sizes[1] == 0)
    }
}
