// MemoryTests: searches this process's whole memory for keys that should have been erased.

import Crypto
import Foundation
import Glibc
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
        let (hierarchy, guarded) = try keychain.keys(passcode(passcodeText))
        let opened = guarded.classes
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
        // The row key of the only row is unwrapped as the format document describes.
        let row = try #require(try rows(of: keychain).first)
        let secret = try #require(row.secret)
        let classKey = try #require(opened[.whenUnlocked]).classKey
        let labels = [row.labels.group, row.labels.first, row.labels.second, row.labels.rest]
        let binding =
            Array("KCR2".utf8) + hierarchy.keybag.keychainID + row.reference.bytes
            + [row.protection] + Array("genp".utf8) + labels.flatMap(\.bytes)
        let rowKey = try AuthenticatedEncryption.open(
            secret[12..<80], using: classKey, authenticating: binding)
        forgotten.append(Needle(SecretBytes(copying: rowKey.prefix(32))))
        // The index key and the integrity key stay until `lockAll`.
        kept += [guarded.indexKey, guarded.integrityKey].map { key in
            Needle(masked: key.plainBytes.map { $0 ^ 0x36 ^ Needle.mask })
        }
        // A lock keeps the index key, the integrity key, and the class key and metadata key of each
        // of the two classes that are available after the first unlock. It erases the row key, and
        // the class key and metadata key of each of the three classes that are available only while
        // unlocked.
        try #require(kept.count == 2 * 2 + 2 && forgotten.count == 2 * 3 + 1)
        return (kept, forgotten)
    }

    private func rows(of keychain: TemporaryKeychain) throws -> [SealedRow] {
        try keychain.rows(
            ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a")))
    }

    /// Loads an item's secret three times, releases it each time, and changes the item's label.
    /// Before that, adds the item if `adding` is true.
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

    @Test
    func `after a lock no key of the when-unlocked classes is left in memory, and no row key`()
        throws
    {
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
        // The search finds the keys that stay, which shows that it can find keys.
        for needle in kept { #expect(try needle.occurrenceCount() > 0) }
        for needle in forgotten { #expect(try needle.occurrenceCount() == 0) }
        // This use keeps the keychain from being released before the search.
        #expect(keychain.engine.lockState == .locked)
        print(
            "memory after lock: \(forgotten.count) keys are erased, \(kept.count) are kept")
    }

    @Test func `the index and integrity keys are in memory from the first unlock until lock-all`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try useSecret(keychain, adding: true)
        let needles = try {
            let (_, guarded) = try keychain.keys(passcode("1234"))
            return [guarded.indexKey, guarded.integrityKey].map { key in
                // In memory, the key is XORed with HMAC's inner padding.
                Needle(masked: key.plainBytes.map { $0 ^ 0x36 ^ Needle.mask })
            }
        }()
        for needle in needles { #expect(try needle.occurrenceCount() > 0) }
        try keychain.engine.lock()
        for needle in needles { #expect(try needle.occurrenceCount() > 0) }
        try keychain.engine.lockAll()
        for needle in needles { #expect(try needle.occurrenceCount() == 0) }
        #expect(keychain.engine.lockState == .beforeFirstUnlock)
    }

    @Test func `after the keychain is released no key is left in memory`() throws {
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
        print("memory after the release: \(all.count) keys are erased")
    }

    @Test
    func `no hash state that can replace the index or integrity key in HMAC is left in memory`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try useSecret(keychain, adding: true)
        let (hierarchy, guarded) = try keychain.keys()
        let open = try hierarchy.openTier()
        for key in [guarded.indexKey, guarded.integrityKey, open.indexKey, open.integrityKey] {
            for pad: UInt8 in [0x36, 0x5C] {
                var block = [UInt8](repeating: pad, count: 64)
                for (index, byte) in key.plainBytes.enumerated() { block[index] ^= byte }
                let needle = Needle(masked: HashState.behind(block, mask: Needle.mask))
                #expect(try needle.occurrenceCount() == 0)
                // While `hash` has the state after the padded key, the search finds this state.
                var hash = SHA256()
                hash.update(data: block)
                let count = try needle.occurrenceCount()
                #expect(count > 0)
                hash.update(data: block)
            }
        }
        #expect(keychain.engine.lockState == .unlocked)
    }

    // MARK: The search

    @Test func `the memory search finds a key in pages that were made read-only`() throws {
        let key = SecretBytes.random(byteCount: 32)
        // SAFETY: only this test uses the page. The page is unmapped when the test ends.
        let mapped = unsafe mmap(
            nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        guard let page = unsafe mapped, Int(bitPattern: page) != -1 else {
            throw UnreadableMemory()
        }
        defer { _ = unsafe munmap(page, 4096) }
        unsafe key.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: page, count: 4096).copyMemory(from: $0)
        }
        #expect(try Needle(key).occurrenceCount() == 2)
        let code = unsafe mprotect(page, 4096, PROT_READ)
        try #require(code == 0)
        #expect(try Needle(key).occurrenceCount() == 2)
        withExtendedLifetime(key) {}
    }

    /// This test runs in a separate process, because its unreadable page would make the searches of
    /// other tests throw too.
    @Test func `the memory search throws if memory that is mapped as readable can't be read`() async
    {
        await #expect(processExitsWith: .success) {
            let needle = Needle(SecretBytes.random(byteCount: 32))
            _ = try needle.occurrenceCount()
            let path = FileManager.default.temporaryDirectory
                .appending(path: "needle-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: path) }
            try Data(count: 4096).write(to: path)
            let file = try FileHandle(forUpdating: path)
            // The second page lies beyond the end of the file.
            // SAFETY: nothing uses the pages.
            let mapped = unsafe mmap(
                nil, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.fileDescriptor, 0)
            guard let pages = unsafe mapped, Int(bitPattern: pages) != -1 else {
                throw CocoaError(.fileReadUnknown)
            }
            #expect(throws: UnreadableMemory.self) { try needle.occurrenceCount() }
        }
    }
}
