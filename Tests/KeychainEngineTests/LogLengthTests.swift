// The write-ahead log that a program leaves if it ends without closing its keychain.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import Testing

@Suite struct LogLengthTests {
    private func add(_ keychain: TemporaryKeychain, _ account: String, byteCount: Int) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .whenUnlocked, data: Data(repeating: 7, count: byteCount))),
            as: keychain.caller)
    }

    @Test func `closeIfLogIsLong empties a long write-ahead log, and keeps a short one`()
        throws
    {
        let keychain = try TemporaryKeychain()
        let folder = StoreFolder(path: keychain.directory).located
        try add(keychain, "a", byteCount: 10)
        keychain.engine.closeIfLogIsLong()
        #expect(folder.byteCount(of: .writeAheadLog) > 0)
        try add(keychain, "b", byteCount: 300_000)
        #expect(folder.byteCount(of: .writeAheadLog) > 256 << 10)
        keychain.engine.closeIfLogIsLong()
        #expect(folder.byteCount(of: .writeAheadLog) == 0)
        try keychain.reopen()
        let found = try keychain.engine.perform(
            FindItems(ItemQuery(itemClass: .genericPassword), Retrieval(limit: nil)),
            as: keychain.caller)
        #expect(found.count == 2)
    }
}
