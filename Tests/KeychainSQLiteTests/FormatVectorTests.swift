// The vectors in Documentation/Formats for the database: records, pages, rows, header and digest,
// anchor, and hardware keys (secure-enclave-key-v1.md).

import FormatVectors
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Testing

@Suite struct `Format vectors of the store` {
    @Test func `records are encoded and decoded as in the vectors`() throws {
        let file = try VectorFile<RecordEncodingVector>.read("record-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let record = ItemRecord(decoding: test.encoded.bytes)
            #expect((record != nil) == (test.result == .valid), "test \(test.tcId)")
            #expect(record.map { RecordVector($0) } == test.record, "test \(test.tcId)")
            if let record { #expect(Hex(record.encoded()) == test.encoded, "test \(test.tcId)") }
        }
        #expect(count == 116)
    }

    /// Decoding a truncated record must return `nil` and must not trap.
    @Test func `a truncated record is never decoded`() throws {
        let file = try VectorFile<RecordEncodingVector>.read("record-v1")
        var count = 0
        for test in file.tests where test.result == .valid && test.encoded.bytes.count < 2_000 {
            for size in 0..<test.encoded.bytes.count {
                count += 1
                #expect(
                    ItemRecord(decoding: Array(test.encoded.bytes[..<size])) == nil,
                    "test \(test.tcId), \(size) bytes")
            }
        }
        #expect(count > 1_000)
    }

    // MARK: Pages

    @Test func `pages, frames and logs are verified as in the vectors`() throws {
        let file = try VectorFile<PageVector>.read("pages-v2")
        for test in file.tests {
            let key = test.deviceKey.secret
            #expect(
                KeyDerivation.derive(.pages, from: key, salt: test.salt.bytes)
                    .isEqual(to: test.pageKey.secret))
            let isValid =
                if let log = test.log {
                    try isSoundLog(log.bytes, test)
                } else {
                    isSound(try #require(test.page).bytes, test)
                }
            #expect(isValid == (test.result == .valid), "test \(test.tcId): \(test.comment)")
        }
        #expect(file.tests.count == 56)
    }

    private func isSound(_ page: [UInt8], _ test: PageVector) -> Bool {
        let authenticator = PageAuthenticator(
            deviceKey: test.deviceKey.secret, salt: test.salt.bytes)
        let number = test.number ?? 0
        // SAFETY: the array has as many bytes as a page.
        return unsafe page.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            guard let place = test.place else {
                return unsafe authenticator.verifies(pageAt: base, number: number)
            }
            return unsafe authenticator.verifies(pageAt: base, in: place)
        }
    }

    /// Whether a log is sound. The log lies beside a database file that contains only a header.
    private func isSoundLog(_ log: [UInt8], _ test: PageVector) throws -> Bool {
        let database = try PageDatabase(deviceKey: test.deviceKey.secret)
        var header = Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 84)
        header[16] = 0x10
        header[20] = 32
        header.replaceSubrange(72..<88, with: test.salt.bytes)
        try Data(header).write(to: URL(filePath: database.path))
        try Data(log).write(to: URL(filePath: database.path + "-wal"))
        let check = try LogFileCheck(besideDatabaseAt: database.path)
        guard check?.tellsOfLostTransactions != true else { return false }
        #expect(check?.committedFrameCount ?? 0 == test.committedFrames, "test \(test.tcId)")
        return true
    }

    // MARK: Rows

    @Test func `rows are decrypted as in the vectors`() throws {
        let file = try VectorFile<RowVector>.read("row-v1")
        let keychains = try #require(file.testGroups.first?.keychains)
        let opened = try keychains.map { keychain in
            let hierarchy = try KeyHierarchyVersion1(
                KeybagVersion1.parse(keychain.keybag.bytes), deviceKey: keychain.deviceKey.secret)
            // The keys that the vector file lists for a keychain are the keys in its keybag.
            #expect(
                try KeychainVector(
                    hierarchy, deviceKey: keychain.deviceKey.secret, passcode: nil) == keychain)
            return try hierarchy.openDeviceKeys()
        }
        var count = 0
        for test in file.tests {
            count += 1
            let (record, plaintext, failure) = try open(test, opened[test.keychain])
            #expect(failure == test.failure, "test \(test.tcId)")
            #expect(record.map { Hex($0.encoded()) } == test.record, "test \(test.tcId)")
            #expect(plaintext == test.plaintext, "test \(test.tcId)")
            if test.result == .valid, let record {
                let index = BlindIndex(key: opened[test.keychain].indexKey)
                let expected = try labels(of: test)
                #expect(
                    RowLabels(record, index: index, isVersion1: true) == expected,
                    "test \(test.tcId)")
            }
        }
        #expect(count == 83)
    }

    private func open(
        _ test: RowVector, _ keys: DeviceKeys
    ) throws -> (ItemRecord?, Hex?, RowVector.Failure?) {
        let row = SealedRow(
            id: 1, reference: try #require(ItemReference(bytes: test.uuid.bytes)),
            protection: test.protection, labels: try labels(of: test),
            metadata: Data(test.meta.bytes),
            secret: test.secret.map { Data($0.bytes) })
        let protection = try #require(ProtectionClass(rawValue: test.keysOfProtection))
        let classKeys = try #require(keys.classes[protection])
        let keychainID = test.keychainID.bytes
        guard
            let record = try? RowSealingVersion1.openMetadata(
                of: row, keychainID: keychainID, keys: classKeys)
        else { return (nil, nil, .metadata) }
        if record.secretTag == nil, row.secret == nil { return (record, nil, nil) }
        guard
            let secret = try? RowSealingVersion1.openSecret(
                of: row, record: record, keychainID: keychainID, keys: classKeys)
        else { return (record, nil, .secret) }
        guard record.constraints.requiresApplicationPassword else {
            return (record, Hex(secret), nil)
        }
        let password = try #require(test.applicationPassword).secret
        do {
            let opened = try PasswordSealing.open(
                secret, password: password,
                for: PasswordSealing.Binding(
                    keychainID: keychainID, reference: row.reference, protection: protection,
                    itemClass: record.itemClass, constraints: record.constraints))
            return (record, Hex(opened), nil)
        } catch {
            return (record, nil, error.status == .authFailed ? .applicationPassword : .secret)
        }
    }

    private func labels(of test: RowVector) throws -> RowLabels {
        let terms = test.terms.bytes
        return RowLabels(
            group: try #require(Label(test.grp.bytes)), first: try #require(Label(test.k1.bytes)),
            second: try #require(Label(test.k2.bytes)), rest: try #require(Label(test.k3.bytes)),
            terms: try stride(from: 0, to: terms.count, by: 16).map {
                try #require(Label(terms[$0..<min($0 + 16, terms.count)]))
            })
    }

    // MARK: Header and digest

    @Test func `headers are verified as in the vectors`() throws {
        let file = try VectorFile<HeaderVector>.read("header-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let authenticator = StoreAuthenticator(key: test.integrityKey.secret)
            let header = StoreHeader(
                test.header.bytes,
                StoreTiers(
                    version1: StoreTier(
                        indexKey: test.integrityKey.secret, integrityKey: test.integrityKey.secret))
            )
            #expect((header != nil) == (test.result == .valid), "test \(test.tcId)")
            #expect(header.map { Hex($0.keychainID) } == test.keychainID, "test \(test.tcId)")
            #expect(header?.generation == test.generation, "test \(test.tcId)")
            #expect(header?.itemCount == test.itemCount, "test \(test.tcId)")
            #expect(header?.setAsideCount == test.setAsideCount, "test \(test.tcId)")
            #expect(header?.keybagGeneration == test.keybagGeneration, "test \(test.tcId)")
            #expect(
                header?.digest(of: .open).map { Hex($0.bytes) } == test.digest, "test \(test.tcId)")
            if let rows = test.rows {
                let digest = rows.reduce(StoreDigest.zero) { sum, row in
                    sum
                        + authenticator.contribution(
                            reference: row.uuid.bytes, metadataTag: row.metadataTag.bytes)
                }
                #expect(Hex(digest.bytes) == test.digest, "test \(test.tcId)")
            }
        }
        #expect(count == 24)
    }

    // MARK: Anchor

    @Test func `anchors are read as in the vectors`() throws {
        let file = try VectorFile<AnchorVector>.read("anchor-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let expected: Anchor.Reading = test.generation.map { .generation($0) } ?? .unreadable
            let reading = try withAnchor(test) { folder, anchor in
                try folder.withLock { lock throws(KeychainFailure) in
                    try lock.write(test.file.secret, to: .anchor)
                }
                return anchor.read()
            }
            #expect(reading == expected, "test \(test.tcId)")
        }
        #expect(count == 17)
    }

    @Test func `an anchor is written as in the vectors`() throws {
        let file = try VectorFile<AnchorVector>.read("anchor-v1")
        let test = try #require(file.tests.first)
        let generation = try #require(test.generation)
        let written = try withAnchor(test) { folder, anchor in
            #expect(anchor.read() == .absent)
            anchor.note(generation: generation - 1)
            anchor.note(generation: generation)
            return try folder.read(.anchor)
        }
        #expect(written.map { Hex($0) } == test.file)
    }

    @Test func `an anchor's generation never decreases`() throws {
        let test = try #require(
            try VectorFile<AnchorVector>.read("anchor-v1").tests.first { $0.generation == 9 })
        let last = try withAnchor(test) { _, anchor in
            // Two processes have committed, but don't record their generations in the order of
            // their commits.
            for generation: UInt64 in [10, 12, 11, 10, 8] { anchor.note(generation: generation) }
            return anchor.read()
        }
        #expect(last == .generation(12))
    }

    /// Runs `body` with an anchor in a temporary folder.
    private func withAnchor<Result>(
        _ test: AnchorVector, _ body: (StoreFolder, Anchor) throws -> Result
    ) throws -> Result {
        let folder = StoreFolder(path: NSTemporaryDirectory() + "anchor-\(UUID().uuidString)")
        try folder.prepare()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        let authenticator = StoreAuthenticator(key: test.integrityKey.secret)
        return try body(folder, Anchor(folder: folder, authenticator: authenticator))
    }
}

// MARK: - Hardware keys

@Suite struct `Vectors of Secure Enclave keys` {
    @Test func `blobs of hardware keys are opened as in the vectors`() throws {
        let file = try VectorFile<SecureEnclaveVector>.read("secure-enclave-key-v1")
        var count = 0
        for test in file.tests {
            count += 1
            let failure = try check(test)
            #expect(failure == test.failure, "test \(test.tcId)")
            #expect((failure == nil) == (test.result == .valid), "test \(test.tcId)")
        }
        #expect(count == 34)
    }

    /// Opens a blob and compares the result with the test vector.
    private func check(_ test: SecureEnclaveVector) throws -> SecureEnclaveVector.Failure? {
        let bytes = Data(test.blob.bytes)
        guard let blob = SecureEnclaveBlob(decoding: bytes) else { return .malformed }
        #expect(blob.encoded == bytes, "test \(test.tcId)")
        let keys = ClassKeys(classKey: test.classKey.secret, metadataKey: .random(byteCount: 32))
        let content: SecureEnclaveSealing.Content
        do {
            content = try SecureEnclaveSealing.open(
                blob, keychainID: test.keychainID.bytes, keys: keys)
        } catch {
            return .inauthentic
        }
        var value = content.authorization
        if blob.constraints.requiresApplicationPassword {
            let password = try #require(test.applicationPassword).secret
            do {
                value = try PasswordSealing.open(
                    value, password: password,
                    for: PasswordSealing.Binding(
                        keychainID: test.keychainID.bytes, reference: blob.identifier,
                        protection: blob.protection, itemClass: .key,
                        constraints: blob.constraints))
            } catch {
                return .applicationPassword
            }
        }
        #expect(Hex(blob.identifier.bytes) == test.identifier, "test \(test.tcId)")
        #expect(blob.protection.rawValue == test.protection, "test \(test.tcId)")
        #expect(
            Hex(bigEndianBytes(blob.constraints.rawValue)) == test.constraints,
            "test \(test.tcId)")
        #expect(Hex(Array(blob.publicKey)) == test.publicKey, "test \(test.tcId)")
        #expect(Hex(Array(blob.wrappedKey)) == test.wrappedKey, "test \(test.tcId)")
        #expect(content.enrollment.map { Hex(Array($0)) } == test.enrollment, "test \(test.tcId)")
        #expect(Hex(Array(value)) == test.authorization, "test \(test.tcId)")
        return nil
    }
}

/// A test of pages-v2.json: a page of the database, a page of the log, or a whole log.
private struct PageVector: FormatVector {
    var tcId: Int
    let comment: String
    let flags: [String]
    let result: VectorResult
    let deviceKey: Hex
    let salt: Hex
    let pageKey: Hex
    let page: Hex?
    let number: UInt32?
    let commitSize: UInt32?
    let frame: UInt32?
    let salts: Hex?
    let log: Hex?
    let committedFrames: Int?

    var place: LogFramePlace? {
        guard let number, let commitSize, let frame, let salts = salts?.bytes else { return nil }
        func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
        return LogFramePlace(
            page: number, databasePageCount: commitSize, frame: frame, salt1: word(salts[..<4]),
            salt2: word(salts[4...]))
    }
}
