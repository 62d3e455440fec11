// MemoryTests: looks through this process's whole memory for keys that should be gone.

import Foundation
import Glibc
import KeychainCrypto
import KeychainEngine
import KeychainModel
import KeychainStore
import Testing

/// A key that is looked for, kept in a form that is not found by the search.
private struct Needle {
    private let masked: [UInt8]

    init(_ key: SecretBytes) {
        // SAFETY: read byte by byte, so that no plain copy is made.
        masked = unsafe key.withUnsafeBytes { unsafe $0.map { $0 ^ 0xA5 } }
    }

    /// How many places in readable memory hold the key, other than the search's own.
    func occurrenceCount() throws -> Int {
        // SAFETY: a page of our own; the search leaves it out.
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
        defer {
            unsafe explicit_bzero(page, 4096)
            unsafe page.deallocate()
        }
        for (index, byte) in masked.enumerated() {
            unsafe page.storeBytes(of: byte ^ 0xA5, toByteOffset: index, as: UInt8.self)
        }
        // Through the file, since other threads may unmap what is being read.
        let memory = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        let window = UnsafeMutableRawPointer.allocate(
            byteCount: Self.windowByteCount, alignment: 16)
        defer {
            unsafe explicit_bzero(window, Self.windowByteCount)
            unsafe window.deallocate()
        }
        let ownWindow =
            UInt(bitPattern: window)..<UInt(bitPattern: window) + UInt(Self.windowByteCount)
        var places: [UInt] = []
        for region in try Self.readableRegions() {
            var start = region.lowerBound
            while start < region.upperBound {
                let wanted = min(Self.windowByteCount, Int(region.upperBound - start))
                let count = unsafe pread(memory, window, wanted, off_t(start))
                if count > 0 {
                    places += unsafe offsets(of: page, in: window, count).map { start + UInt($0) }
                }
                // Windows overlap, so that a key on a border is seen.
                start += UInt(max(wanted - masked.count + 1, 4096))
            }
        }
        places = Set(places).filter { !ownWindow.contains($0) }.sorted()
        // The search itself is one of the places, or it didn't look everywhere.
        try #require(places.contains(UInt(bitPattern: page)))
        return places.count - 1
    }

    private static let windowByteCount = 1 << 20

    private func offsets(
        of key: UnsafeRawPointer, in window: UnsafeRawPointer, _ count: Int
    ) -> [Int] {
        var found: [Int] = []
        var start = 0
        // SAFETY: all reads lie within the first `count` bytes of the window.
        while start + masked.count <= count,
            let hit = unsafe memchr(
                window + start, Int32(masked[0] ^ 0xA5), count - start - masked.count + 1)
        {
            let offset = unsafe UnsafeRawPointer(hit) - window
            if unsafe memcmp(hit, key, masked.count) == 0 { found.append(offset) }
            start = offset + 1
        }
        return found
    }

    private static func readableRegions() throws -> [Range<UInt>] {
        // Reading it as a file of a known size would give its beginning only.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        return maps.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            // Files that are mapped for reading only hold nothing that this process wrote; the
            // kernel's own pages can't all be read.
            guard fields.count >= 2, fields[1].hasPrefix("rw"), !line.contains("[v") else {
                return nil
            }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return bounds.count == 2 ? bounds[0]..<bounds[1] : nil
        }
    }
}

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
        return (kept, forgotten)
    }

    private func rows(of keychain: TemporaryKeychain) throws -> [SealedRow] {
        var found: [SealedRow] = []
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
        try keychain.engine.store.visit(
            RowSearch(query, visibleTo: keychain.caller, index: keychain.engine.store.index),
            includesSecret: true, limit: nil
        ) { candidate in
            if case .row(let row) = candidate { found.append(row) }
            return true
        }
        return found
    }

    /// Loads a secret, then drops it.
    private func useSecret(_ keychain: TemporaryKeychain) throws {
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
        for _ in 0..<3 {
            let item = try keychain.engine.find(
                query, Retrieval(includesData: true), as: keychain.caller)
            #expect(item.first?.data == Data("secret".utf8))
        }
        try keychain.engine.update(
            query, ItemChanges(attributes: [.label: .string("L")]), as: keychain.caller)
    }

    @Test func `after a lock no class key and no row key is left in memory`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        _ = try keychain.engine.add(
            NewItem(
                itemClass: .genericPassword, attributes: genericPassword("a"),
                protection: .whenUnlocked, data: Data("secret".utf8)), as: keychain.caller)
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
            _ = try keychain.engine.add(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    protection: .whenUnlocked, data: Data("secret".utf8)), as: keychain.caller)
            try useSecret(keychain)
            let (kept, forgotten) = try needles(keychain, "1234")
            all = kept + forgotten
        }
        for needle in all { #expect(try needle.occurrenceCount() == 0) }
        print("memory after the end: \(all.count) keys looked for")
    }
}
