// ConversionTests: a keychain whose database has version 1 is converted when it is first opened. If
// it has a passcode, opening it fails until a separate conversion, which requires the passcode, has
// converted it.

import FaultSweeps
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import Synchronization
import TestPrograms
import Testing

@Suite struct ConversionTests {
    /// A keychain of version 1 in a temporary folder.
    private func folder(_ keychain: OldKeychain) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try keychain.image.layOut(at: folder.path)
        return folder
    }

    /// The generation of a database of version 1, read from a copy of its folder.
    private func generation(of keychain: OldKeychain) throws -> UInt64 {
        let copy = try folder(keychain)
        let place = StoreFolder(path: copy.path)
        let deviceKey = try PageSeal.deviceKey(besideDatabaseAt: place.path(of: .database))
        let file = try StoreFile.openVersion1(place)
        defer { file.close() }
        let keys = try KeyHierarchyVersion1(
            KeybagVersion1.parse(try #require(try file.keybagBytes())), deviceKey: deviceKey
        ).openDeviceKeys()
        let tiers = StoreTiers(
            version1: StoreTier(indexKey: keys.indexKey, integrityKey: keys.integrityKey))
        return try #require(try file.header(tiers)).generation
    }

    private func passcode(of keychain: OldKeychain) -> SecretBytes? {
        keychain.state.passcode.map { SecretBytes(copying: Contents.passcode($0)) }
    }

    @Test func `an old keychain with a passcode is converted only with the passcode`() throws {
        let folder = try folder(.passcode)
        let before = try folder.contents()
        func refusal(_ passcode: SecretBytes?) -> KeychainFailure? {
            failure {
                _ = try KeychainEngine.convert(
                    directory: folder.path, passcode: passcode, options: StepRunner.options)
            }
        }
        let opening = failure {
            try KeychainEngine.open(directory: folder.path, options: StepRunner.options).close()
        }
        #expect(opening?.reason.contains("keychainctl convert") == true)
        #expect(refusal(nil)?.reason.contains("keychainctl convert") == true)
        #expect(refusal(SecretBytes(copying: Contents.passcode(2)))?.status == .authFailed)
        var after = try folder.contents()
        for file in ["in-use", "lock", "keychain.db-wal", "keychain.db-shm"] { after[file] = nil }
        #expect(after == before)
        #expect(
            try KeychainEngine.conversionNeedsPasscode(
                directory: folder.path, options: StepRunner.options))
        for isFirst in [true, false] {
            #expect(
                try KeychainEngine.convert(
                    directory: folder.path, passcode: passcode(of: .passcode),
                    options: StepRunner.options) == isFirst)
        }
        let seen = Observation(of: folder.path, knowing: [OldKeychain.passcode.state])
        #expect(seen.difference(from: OldKeychain.passcode.state) == nil)
    }

    @Test func `a keychain of which only the pages have version 2 is converted too`() throws {
        let folder = try TemporaryFolder()
        try OldKeychain.withAuthenticatedPages.layOut(at: folder.path)
        let opening = failure {
            try KeychainEngine.open(directory: folder.path, options: StepRunner.options).close()
        }
        #expect(opening?.reason.contains("keychainctl convert") == true)
        let passcode = SecretBytes(copying: Contents.passcode(1))
        for isFirst in [true, false] {
            #expect(
                try KeychainEngine.convert(
                    directory: folder.path, passcode: passcode, options: StepRunner.options)
                    == isFirst)
        }
        let engine = try KeychainEngine.open(directory: folder.path, options: StepRunner.options)
        defer { engine.close() }
        try engine.unlock(passcode: passcode)
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string("mail"), .account: .string("a")])
        let found = try engine.perform(
            FindItems(query, Retrieval(includesData: true)), as: Contents.caller)
        #expect(found.map(\.data) == [Data("secret a".utf8)])
        let report = try engine.check()
        #expect(report.isSound && report.itemCount == 2)
    }

    /// A row's metadata begin with `KCM1` or `KCM2`. The 64 bytes before them are the row's labels.
    @Test func `a conversion leaves nothing of the old labels, keybag and rows`() throws {
        let folder = try folder(.plain)
        let old = try folder.contents()
        try KeychainEngine.open(directory: folder.path, options: StepRunner.options).close()
        let database = try #require(try folder.contents()["keychain.db"])
        #expect(database.firstRange(of: Data("KCM1".utf8)) == nil)
        #expect(database.firstRange(of: Data("KCM2".utf8)) != nil)
        #expect(database.firstRange(of: Data("KCKB\u{1}".utf8)) == nil)
        let formerly = try #require(old["keychain.db"]).firstRange(of: Data("KCM1".utf8))
        let place = try #require(formerly).lowerBound
        let labels = try #require(old["keychain.db"])[place - 64..<place]
        #expect(database.firstRange(of: labels) == nil)
    }

    @Test(arguments: OldKeychain.allCases)
    func `an old keychain is converted once, with all of its content`(
        keychain: OldKeychain
    ) throws {
        let folder = try folder(keychain)
        let before = try generation(of: keychain)
        _ = try KeychainEngine.convert(
            directory: folder.path, passcode: passcode(of: keychain), options: StepRunner.options)
        let engine = try KeychainEngine.open(
            directory: folder.path, options: StepRunner.options)
        let status = try engine.status()
        #expect(status.formatVersion == 2)
        #expect(status.generation == before + 1)
        let aside = try engine.setAsideRows()
        #expect(aside.count == keychain.state.setAside.count)
        #expect(aside.allSatisfy { $0.reason == .foundByCheck })
        // Version 1 authenticates only the number of rows that are set aside.
        #expect(aside.allSatisfy { !$0.isAuthentic && $0.moment > 0 })
        engine.close()
        let contents = try folder.contents()
        #expect(contents["keychain.db"]?[20] == 32)
        #expect(contents["keychain.db"]?[63] == 2)
        #expect(contents.keys.sorted() == ["anchor", "device.key", "keybag", "keychain.db"])
        #expect(Keybag.formatVersion(of: [UInt8](try #require(contents["keybag"]))) == 2)
        for _ in 0..<2 {
            let seen = Observation(of: folder.path, knowing: [keychain.state])
            #expect(seen.difference(from: keychain.state) == nil)
        }
    }

    @Test(arguments: OldKeychain.allCases)
    func `a conversion reports its progress from the start, and finally its completion`(
        keychain: OldKeychain
    ) throws {
        let folder = try folder(keychain)
        let told = Mutex<[RequestProgress]>([])
        var options = StepRunner.options
        options.conversionProgress = { state in told.withLock { $0.append(state) } }
        for _ in 0..<2 {
            _ = try KeychainEngine.convert(
                directory: folder.path, passcode: passcode(of: keychain), options: options)
        }
        let total = keychain.state.values.count
        #expect(
            told.withLock { $0 } == [
                RequestProgress(done: 0, total: total), RequestProgress(done: total, total: total),
            ])
    }

    @Test func `a keychain that an older program has open is not converted`() throws {
        let folder = try folder(.plain)
        let before = try folder.contents()
        let lease = try StoreFolder(path: folder.path).lease(exclusive: false)
        let refusal = failure {
            try KeychainEngine.open(directory: folder.path, options: .testing).close()
        }
        #expect(refusal?.reason.contains("a program of an earlier version has it open") == true)
        #expect(try folder.contents() == before)
        lease.end()
        let seen = Observation(of: folder.path, knowing: [OldKeychain.plain.state])
        #expect(seen.difference(from: OldKeychain.plain.state) == nil)
    }

    /// The part of an old keychain in which one byte is changed.
    enum Damage: CaseIterable {
        case header, item, index, log

        var place: (file: String, offset: Int) {
            switch self {
            case .header: ("keychain.db", RootPage.header.bytes.upperBound - 60)
            case .item: ("keychain.db", RootPage.items.bytes.upperBound - 60)
            case .index: ("keychain.db", RootPage.itemsKey.bytes.upperBound - 60)
            case .log: ("keychain.db-wal", 5000)
            }
        }
    }

    @Test(arguments: Damage.allCases)
    func `a damaged old keychain isn't converted, and a recovery converts it`(
        damage: Damage
    ) throws {
        let keychain: OldKeychain = damage == .log ? .plain : .passcode
        let folder = try folder(keychain)
        let place = damage.place
        var bytes = try #require(try folder.contents()[place.file])
        bytes[place.offset] ^= 0x5A
        try folder.put(bytes, place.file)
        let refusal = failure {
            _ = try KeychainEngine.convert(
                directory: folder.path, passcode: passcode(of: keychain), options: .testing)
        }
        #expect(refusal?.cause == .damage)
        #expect(refusal?.reason.contains("keychainctl recover") == true)
        #expect(try folder.contents()["keychain.db"]?[20] == 8)
        #expect(try folder.contents()[place.file] == bytes)

        let report = try KeychainEngine.recover(
            directory: folder.path, passcode: passcode(of: keychain), options: StepRunner.options)
        #expect(try folder.contents()["keychain.db"]?[20] == 32)
        #expect(report.damagedItems.count <= (damage == .item ? 1 : 0))
        let seen = Observation(of: folder.path, knowing: [keychain.state])
        #expect(seen.isSound)
        #expect(seen.lie(about: [keychain.state]) == nil)
        if damage == .header || damage == .index {
            #expect(seen.answers.allSatisfy { !$0.value.isDamage })
        }
    }

    @Test func `an old keychain with a forged index is not converted`() throws {
        // An attacker without keys can recompute the checksums of version 1. Here, the attacker
        // removes an entry of an index.
        let folder = try folder(.passcode)
        let path = folder.path + "/keychain.db"
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        bytes[RootPage.itemsUUID.bytes.lowerBound + 4] -= 1
        try folder.put(Data(PageSeal.sealed(bytes)), "keychain.db")
        let refusal = failure {
            _ = try KeychainEngine.convert(
                directory: folder.path, passcode: passcode(of: .passcode), options: .testing)
        }
        #expect(refusal?.cause == .damage)
        #expect(try folder.contents()["keychain.db"]?[20] == 8)
    }

    @Test func `an interrupted recovery of an old keychain is completed, and converts it`() throws {
        let keychain = OldKeychain.passcode
        let folder = try folder(keychain)
        try FileManager.default.moveItem(
            atPath: folder.path + "/keychain.db", toPath: folder.path + "/keychain.db.recovered")
        #expect(
            failure {
                try KeychainEngine.open(directory: folder.path, options: .testing).close()
            }?.cause == .damage)
        let report = try KeychainEngine.recover(
            directory: folder.path, passcode: passcode(of: keychain), options: StepRunner.options)
        #expect(report.isContinued && report.isComplete)
        #expect(try folder.contents()["keychain.db"]?[20] == 32)
        let seen = Observation(of: folder.path, knowing: [keychain.state])
        #expect(seen.difference(from: keychain.state) == nil)
    }

    @Test func `on a read-only file system an old keychain is kept, and the error says what to do`()
        throws
    {
        let folder = try folder(.plain)
        let child = try mountingScript(
            """
            mount --bind "$place" "$place"
            mount -o remount,bind,ro "$place"
            "$writer" count "$place"
            """, ["place": folder.path])
        let lines = child.lines()
        try #require(child.endedWell && lines.count == 1, "\(lines)")
        #expect(lines[0].contains("earlier format version") && lines[0].contains("is writable"))
        #expect(
            try folder.contents()["keychain.db"]
                == OldKeychain.plain.image.content(of: "keychain.db"))
    }

    @Test func `processes that open an old keychain at the same time convert it only once`() throws
    {
        let folder = try folder(.plain)
        let before = try generation(of: .plain)
        let children = try (0..<6).map { _ in
            try faultWriter("carry-out", folder.path, "1", "reopen")
        }
        for child in children { #expect(child.lines() == ["done 0"]) }
        let seen = Observation(of: folder.path, knowing: [OldKeychain.plain.state])
        #expect(seen.difference(from: OldKeychain.plain.state) == nil)
        #expect(seen.generation == before + 1)
    }
}
