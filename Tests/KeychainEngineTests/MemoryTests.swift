// MemoryTests: looks through this process's whole memory for keys that should be gone.

import Crypto
import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite(.serialized) struct MemoryTests {
    private func needles(
        _ keychain: TemporaryKeychain, _ passcodeText: String
    ) throws -> (kept: [Needle], forgotten: [Needle]) {
        let folder = StoreFolder(path: keychain.directory)
        let deviceKey = try DeviceKeyFile.decode(try #require(try folder.read(.deviceKey))).key
        let keybag = try Keybag.parse(try #require(try folder.read(.keybag)).plainBytes)
        let hierarchy = try KeyHierarchy(keybag, deviceKey: deviceKey)
        let opened = try hierarchy.openPasscodeKeys(passcode(passcodeText)).classes
        var kept: [Needle] = []
        var forgotten: [Needle] = []
        for (protection, keys) in opened {
            let pair = [Needle(keys.classKey), Needle(keys.metadataKey)]
            if protection.availability == .whileUnlocked {
                forgotten += pair
            } else {
                kept += pair
            }
        }
        // The keys of the one row, unwrapped as the format document says.
        let row = try #require(try rows(of: keychain).first)
        let secret = try #require(row.secret)
        let classKey = try #require(opened[.whenUnlocked]).classKey
        let binding =
            Array("KCRK".utf8) + keybag.keychainID + row.reference.bytes + [row.protection]
            + Array("genp".utf8)
        forgotten.append(
            Needle(
                try AuthenticatedEncryption.unwrap(
                    secret[12..<72], using: classKey, authenticating: binding)))
        // Of the classes under the passcode: two keys each that stay, or go; and the key of the row.
        try #require(kept.count == 2 * 2 && forgotten.count == 2 * 3 + 1)
        return (kept, forgotten)
    }

    private func rows(of keychain: TemporaryKeychain) throws -> [SealedRow] {
        var found: [SealedRow] = []
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
        _ = try keychain.engine.store.visit(
            RowSearch(query, visibleTo: keychain.caller, index: keychain.engine.store.index),
            includesSecret: true, limit: nil
        ) { candidate in
            if case .row(let row) = candidate { found.append(row) }
            return true
        }
        return found
    }

    /// Loads a secret, then drops it.
    private func useSecret(_ keychain: TemporaryKeychain, adding: Bool = false) throws {
        if adding {
            _ = try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: genericPassword("a"),
                        protection: .whenUnlocked, data: Data("secret".utf8))), as: keychain.caller)
        }
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
        for _ in 0..<3 {
            let item = try keychain.engine.perform(
                FindItems(query, Retrieval(includesData: true)), as: keychain.caller)
            #expect(item.first?.data == Data("secret".utf8))
        }
        try keychain.engine.perform(
            UpdateItems(query, ItemChanges(attributes: [.label: .string("L")])), as: keychain.caller
        )
    }

    @Test func `after a lock no class key and no row key is left in memory`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    protection: .whenUnlocked, data: Data("secret".utf8))), as: keychain.caller)
        try useSecret(keychain)
        let (kept, forgotten) = try needles(keychain, "1234")
        try keychain.engine.lock()
        // The search is able to find a key: those that stay are found.
        for needle in kept { #expect(try needle.occurrenceCount() > 0) }
        for needle in forgotten { #expect(try needle.occurrenceCount() == 0) }
        // Without this use the keychain would go before the search.
        #expect(keychain.engine.lockState == .locked)
        print(
            "memory after lock: \(forgotten.count) keys looked for, \(kept.count) kept ones found")
    }

    @Test func `after the keychain is dropped no key is left in memory`() throws {
        var all: [Needle] = []
        do {
            let keychain = try TemporaryKeychain()
            try keychain.engine.setPasscode(passcode("1234"))
            _ = try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: genericPassword("a"),
                        protection: .whenUnlocked, data: Data("secret".utf8))), as: keychain.caller)
            try useSecret(keychain)
            let (kept, forgotten) = try needles(keychain, "1234")
            all = kept + forgotten
        }
        for needle in all { #expect(try needle.occurrenceCount() == 0) }
        print("memory after the end: \(all.count) keys looked for")
    }

    @Test func `no state of a hash that stands for the index or integrity key is in memory`() throws
    {
        let keychain = try TemporaryKeychain()
        try useSecret(keychain, adding: true)
        let folder = StoreFolder(path: keychain.directory)
        let deviceKey = try DeviceKeyFile.decode(try #require(try folder.read(.deviceKey))).key
        let keybag = try Keybag.parse(try #require(try folder.read(.keybag)).plainBytes)
        let keys = try KeyHierarchy(keybag, deviceKey: deviceKey).openDeviceKeys()
        for key in [keys.indexKey, keys.integrityKey] {
            for pad: UInt8 in [0x36, 0x5C] {
                var block = [UInt8](repeating: pad, count: 64)
                for (index, byte) in key.plainBytes.enumerated() { block[index] ^= byte }
                let needle = Needle(masked: HashState.behind(block, mask: Needle.mask))
                #expect(try needle.occurrenceCount() == 0)
                // The search is able to find such a state.
                var hash = SHA256()
                hash.update(data: block)
                let count = try needle.occurrenceCount()
                #expect(count > 0)
                hash.update(data: block)
            }
        }
        #expect(keychain.engine.lockState == .unlocked)
    }
}
