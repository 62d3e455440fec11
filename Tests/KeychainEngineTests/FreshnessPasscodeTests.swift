// Verification where a passcode is set: what needs its keys, and a passcode that is taken away.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct FreshnessPasscodeTests {
    /// A keychain with a passcode and the item `a`, as after another start of the machine.
    private func keychain() throws -> RememberedKeychain {
        let keychain = try RememberedKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try keychain.add("a")
        keychain.close()
        keychain.boot = 2
        return keychain
    }

    @Test func `it is verified at the first unlock, not before`() throws {
        let keychain = try keychain()
        try keychain.open()
        #expect(keychain.state.standing == .never)
        // A check finds nothing wrong, and can't have looked at all.
        #expect(try keychain.engine.check().isSound)
        #expect(keychain.state.standing == .never)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(keychain.state.standing == .verified)
        // What one process knows another one goes by, with the passcode or without.
        try keychain.reopen()
        #expect(keychain.state.standing == .verified)
    }

    @Test func `what was put back in the guarded tier is found at the first unlock`() throws {
        let keychain = try keychain()
        let before = try keychain.bytes()
        try keychain.open()
        try keychain.engine.unlock(passcode: passcode("1234"))
        try keychain.add("b")
        keychain.close()
        try keychain.putBack(RootPage.indexes + [.items], of: before)
        try keychain.open()
        #expect(keychain.state.standing == .changed)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(keychain.state.standing == .failed)
        let failure = #expect(throws: KeychainFailure.self) { _ = try keychain.find("missing") }
        #expect(failure?.cause == .damage)
    }

    /// The passcode stripped: whoever has the folder of before it was set, has a keybag without it.
    @Test(arguments: [[RootPage.keybag], [.keybag, .header]])
    func `the keybag of before the passcode, put back in the database and beside it, opens nothing`(
        pages: [RootPage]
    ) throws {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        keychain.close()
        let before = try keychain.bytes()
        let keybag = try keychain.bytes(.keybag)
        try keychain.open()
        try keychain.engine.setPasscode(passcode("1234"))
        try keychain.add("b")
        keychain.close()
        try keychain.putBack(pages, of: before)
        try #require(
            FileManager.default.createFile(
                atPath: keychain.path(.keybag), contents: Data(keybag),
                attributes: [.posixPermissions: 0o600]))
        // The passcode came with another device key.
        let failure = #expect(throws: KeychainFailure.self) { try keychain.open() }
        #expect(failure?.status == .invalidKeychain)
    }
}
