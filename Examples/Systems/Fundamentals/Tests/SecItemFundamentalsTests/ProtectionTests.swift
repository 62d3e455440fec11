// ProtectionTests: when the manager's items can be read.

import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct ProtectionTests {
    let keychain = TestKeychain()
    let manager = KeychainManager(service: service)

    @Test(arguments: Accessibility.allCases)
    func `a save gives an item the specified accessibility`(_ accessibility: Accessibility)
        async throws
    {
        try keychain.setPasscode("1234")
        try await keychain.withSecItem {
            try await manager.save(
                Data(), for: "a", accessibility: kSecAttrAccessibleAfterFirstUnlock)
            try await manager.save(Data(), for: "a", accessibility: accessibility.attribute)
        }
        #expect(
            try keychain.items().map(\.accessibility.rawValue)
                == [accessibility.attribute as String])
    }

    @Test(arguments: Accessibility.allCases)
    func `an item is readable only in the lock states that its accessibility allows`(
        _ accessibility: Accessibility
    ) async throws {
        try keychain.setPasscode("1234")
        let isAfterFirstUnlock =
            accessibility == .afterFirstUnlock || accessibility == .afterFirstUnlockThisDeviceOnly
        try await keychain.withSecItem {
            try await manager.save(Data(), for: "a", accessibility: accessibility.attribute)
            try keychain.lock()
        }
        await keychain.withSecItem {
            let whileLocked = await status { _ = try await manager.load(for: "a") }
            #expect(whileLocked == (isAfterFirstUnlock ? errSecSuccess : -25308))
        }
        try keychain.restart()
        try await keychain.withSecItem {
            #expect(await status { _ = try await manager.load(for: "a") } == -25308)
            try keychain.unlock()
            #expect(try await manager.load(for: "a") == Data())
        }
    }

    @Test func `the five accessibility cases have Apple's values`() {
        #expect(
            Accessibility.allCases.map { $0.attribute as String }
                == ["ak", "ck", "aku", "cku", "akpu"])
    }

    @Test func `removing the passcode deletes an item that requires a passcode`() async throws {
        let late = Accessibility.whenPasscodeSetThisDeviceOnly
        try await keychain.withSecItem {
            let early = await status {
                try await manager.save(Data(), for: "late", accessibility: late.attribute)
            }
            #expect(early == errSecAuthFailed)
            try keychain.setPasscode("1234")
            try await manager.save(Data(), for: "late", accessibility: late.attribute)
            try await manager.save(Data(), for: "plain")
            #expect(try await manager.allAccounts() == ["late", "plain"])
            #expect(try keychain.removePasscode() == 1)
            #expect(try await manager.allAccounts() == ["plain"])
        }
    }
}
