import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct DamageTests {
    /// A closed keychain with a few items, as the bytes of its files.
    private func smallKeychain(_ accounts: [String]) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        for account in accounts {
            _ = try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword,
                        attributes: genericPassword(account).merging([
                            .label: .string("L" + account)
                        ]) {
                            $1
                        }, protection: .afterFirstUnlock, data: Data(("secret " + account).utf8))),
                as: keychain.caller)
        }
        return keychain
    }

    private func read(_ keychain: TemporaryKeychain, _ account: String) throws -> Data? {
        try keychain.engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                Retrieval(includesData: true)), as: keychain.caller
        ).first?.data
    }

    @Test func `recovery brings back every item and keeps the damaged file`() throws {
        let accounts = (0..<40).map { "account \($0)" }
        let keychain = try smallKeychain(accounts)
        keychain.engine.close()
        var bytes = try Data(contentsOf: URL(filePath: keychain.path(.database)))
        // The header of the root page of `items_key`, or of some other index.
        bytes[5 * 4096] ^= 0x10
        try bytes.write(to: URL(filePath: keychain.path(.database)))
        let report = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
        #expect(report.itemCount == 40)
        #expect(report.damagedItems.isEmpty)
        try keychain.reopen()
        for account in accounts {
            #expect(try read(keychain, account) == Data(("secret " + account).utf8))
        }
        #expect(try keychain.engine.check().isSound)
        let kept = try Data(
            contentsOf: URL(filePath: report.damagedDirectory + "/keychain.db"))
        #expect(kept == bytes)
    }

    @Test func `a keychain in use is not recovered`() throws {
        let keychain = try smallKeychain(["a"])
        #expect(
            status {
                _ = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
            } == .notAvailable)
        #expect(try read(keychain, "a") == Data("secret a".utf8))
    }

    @Test func `a check finds a sound keychain sound`() throws {
        let keychain = try smallKeychain(["a", "b"])
        let report = try keychain.engine.check()
        #expect(report.itemCount == 2)
        #expect(report.isSound)
        #expect(report.damagedPages.isEmpty)
    }
}
