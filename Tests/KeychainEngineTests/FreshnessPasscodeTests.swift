// Verification of a keychain with a passcode: the part that requires the keys of the guarded tier,
// and an attacker who removes the passcode.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct FreshnessPasscodeTests {
    /// A closed keychain with a passcode and the item `a`, after a reboot.
    private func keychain() throws -> RememberedKeychain {
        let keychain = try RememberedKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try keychain.add("a")
        keychain.close()
        keychain.boot = 2
        return keychain
    }

    @Test func `a keychain with a passcode is verified at the first unlock, not before`() throws {
        let keychain = try keychain()
        try keychain.open()
        #expect(keychain.state.standing == .never)
        // The check finds no problem, since it can't look into the guarded tier yet.
        #expect(try keychain.engine.check().isSound)
        #expect(keychain.state.standing == .never)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(keychain.state.standing == .verified)
        // The next process relies on this verification, even without the passcode.
        try keychain.reopen()
        #expect(keychain.state.standing == .verified)
    }

    @Test func `old pages put back in the guarded tier are found at the first unlock`() throws {
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

    /// An attacker who has a copy of the folder from before the passcode was set has a keybag
    /// without a passcode.
    @Test(arguments: [[RootPage.keybag], [.keybag, .header]])
    func `a keybag put back from before the passcode was set doesn't open the keychain`(
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
        // Setting the passcode changed the device key.
        let failure = #expect(throws: KeychainFailure.self) { try keychain.open() }
        #expect(failure?.status == .invalidKeychain)
    }
}
