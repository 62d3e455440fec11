// What a recovery makes of files in which an attacker without keys has put older ones.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct RecoveryTests {
    private func add(
        _ account: String, _ data: String, _ protection: ProtectionClass = .afterFirstUnlock,
        to keychain: TemporaryKeychain
    ) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: protection, data: Data(data.utf8))), as: keychain.caller)
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func find(_ account: String, in keychain: TemporaryKeychain) throws -> Data? {
        try keychain.engine.perform(
            FindItems(query(account), Retrieval(includesData: true)), as: keychain.caller
        ).first?.data
    }

    private func bytes(_ file: StoreFolder.File, of keychain: TemporaryKeychain) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: keychain.path(file))))
    }

    private func write(
        _ bytes: some Sequence<UInt8>, to file: StoreFolder.File, of keychain: TemporaryKeychain,
        at offset: Int = 0
    ) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: keychain.path(file)))
        if offset == 0 { try handle.truncate(atOffset: 0) }
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    private func recover(
        _ keychain: TemporaryKeychain, _ code: String? = nil
    ) throws -> RecoveryReport {
        try KeychainEngine.recover(
            directory: keychain.directory, passcode: code.map { passcode($0) }, options: .testing)
    }

    // MARK: An earlier passcode

    enum Keybag: CaseIterable { case zeroed, earlier }

    @Test(arguments: Keybag.allCases)
    func `an earlier passcode recovers nothing, whatever became of the keybag in the database`(
        _ inDatabase: Keybag
    ) throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1111"))
        try add("a", "secret", to: keychain)
        keychain.engine.close()
        let database = try bytes(.database, of: keychain)
        let earlier = try bytes(.keybag, of: keychain)
        try keychain.reopen()
        try keychain.engine.changePasscode(from: passcode("1111"), to: passcode("2222"))
        keychain.engine.close()
        let latest = try bytes(.keybag, of: keychain)
        let page = RootPage.keybag.bytes
        try write(
            inDatabase == .zeroed ? [UInt8](repeating: 0, count: 4096)[...] : database[page],
            to: .database, of: keychain, at: page.lowerBound)
        try write(earlier, to: .keybag, of: keychain)
        let before = try bytes(.database, of: keychain)

        for code in ["1111", "2222", nil] {
            let failure = #expect(throws: KeychainFailure.self) { _ = try recover(keychain, code) }
            #expect(failure?.status == .invalidKeychain && failure?.cause == .damage)
            #expect(failure?.reason.contains("`keybag` from a backup") == true)
        }
        #expect(try bytes(.database, of: keychain) == before)

        // What the error asks for.
        try write(latest, to: .keybag, of: keychain)
        #expect(status { _ = try recover(keychain, "1111") } == .authFailed)
        #expect(try recover(keychain, "2222").isComplete)
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("2222"))
        #expect(try find("a", in: keychain) == Data("secret".utf8))
    }
}
