// The vectors of rows and headers of version 2 (Documentation/Formats/row-v2.md, database-v2.md), which a
// writer in Python made that shares nothing with this implementation.

import FormatVectors
import Foundation
import KeychainCore
import KeychainCrypto
import Testing

@testable import KeychainSQLite

/// A test of row-v2.json: the columns of a row, the keys of its tier and its class, and what opens.
private struct RowVector2: FormatVector {
    enum Failure: String, Codable {
        case metadata, labels, secret, applicationPassword
    }

    var tcId: Int
    var comment: String
    var flags: [String]
    var result: VectorResult
    var keychainID: Hex
    var indexKey: Hex
    var classKey: Hex
    var metadataKey: Hex
    var uuid: Hex
    var protection: UInt8
    var grp: Hex
    var k1: Hex
    var k2: Hex
    var k3: Hex
    var terms: Hex
    var meta: Hex
    var secret: Hex?
    var applicationPassword: Hex?
    var failure: Failure?
    var record: Hex?
    var plaintext: Hex?

    var keys: ClassKeys {
        ClassKeys(classKey: classKey.secret, metadataKey: metadataKey.secret)
    }

    func row() throws -> SealedRow {
        let bytes = terms.bytes
        return SealedRow(
            id: 1, reference: try #require(ItemReference(bytes: uuid.bytes)),
            protection: protection,
            labels: RowLabels(
                group: try #require(Label(grp.bytes)), first: try #require(Label(k1.bytes)),
                second: try #require(Label(k2.bytes)), rest: try #require(Label(k3.bytes)),
                terms: try stride(from: 0, to: bytes.count, by: 16).map {
                    try #require(Label(bytes[$0..<min($0 + 16, bytes.count)]))
                }),
            metadata: Data(meta.bytes), secret: secret.map { Data($0.bytes) })
    }
}

/// A test of header-v2.json.
private struct HeaderVector2: FormatVector {
    var tcId: Int
    var comment: String
    var flags: [String]
    var result: VectorResult
    var integrityKey: Hex
    /// Absent: the keys of the guarded tier aren't there.
    var guardedIntegrityKey: Hex?
    var header: Hex
    var keychainID: Hex?
    var generation: UInt64?
    var setAsideCount: UInt64?
    var keybagGeneration: UInt64?
    var openCount: UInt64?
    var openDigest: Hex?
    var guardedCount: UInt64?
    var guardedWrites: UInt64?
    var guardedDigest: Hex?
    /// Rows whose digest is the header's, in no particular order.
    var openRows: [DigestRowVector]?
    var guardedRows: [DigestRowVector]?

    var openTier: StoreTier {
        StoreTier(indexKey: integrityKey.secret, integrityKey: integrityKey.secret)
    }

    var tiers: StoreTiers {
        StoreTiers(
            open: openTier,
            guarded: guardedIntegrityKey.map {
                StoreTier(indexKey: $0.secret, integrityKey: $0.secret)
            })
    }
}

@Suite struct `Vectors of rows and headers of version 2` {
    // MARK: Rows

    @Test func `rows`() throws {
        let file = try VectorFile<RowVector2>.read("row-v2")
        #expect(file.version == 2)
        for test in file.tests {
            let (record, plaintext, failure) = try open(test)
            #expect(failure == test.failure, "test \(test.tcId): \(test.comment)")
            #expect(record.map { Hex($0.encoded()) } == test.record, "test \(test.tcId)")
            #expect(plaintext == test.plaintext, "test \(test.tcId)")
            #expect((failure == nil) == (test.result == .valid), "test \(test.tcId)")
        }
        #expect(file.tests.count == 261)
    }

    private func open(_ test: RowVector2) throws -> (ItemRecord?, Hex?, RowVector2.Failure?) {
        let row = try test.row()
        let keychainID = test.keychainID.bytes
        // A class that there isn't has no keys.
        guard let protection = ProtectionClass(rawValue: test.protection),
            let record = try? RowSealing.openMetadata(
                of: row, keychainID: keychainID, keys: test.keys)
        else { return (nil, nil, .metadata) }
        guard RowLabels(record, index: BlindIndex(key: test.indexKey.secret)) == row.labels else {
            return (record, nil, .labels)
        }
        if record.secretTag == nil, row.secret == nil { return (record, nil, nil) }
        guard
            let secret = try? RowSealing.openSecret(
                of: row, record: record, keychainID: keychainID, keys: test.keys)
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

    /// Nonces and row keys are random, so the sizes are what two writers have in common.
    @Test func `rows are sealed to the sizes that another writer gives them`() throws {
        var count = 0
        for test in try VectorFile<RowVector2>.read("row-v2").tests where test.result == .valid {
            count += 1
            let row = try test.row()
            let binding = RowBinding(row, keychainID: test.keychainID.bytes)
            let record = try #require(try open(test).0)
            let metadata = RowSealing.seal(record, for: binding, keys: test.keys)
            #expect(metadata.count == row.metadata.count, "test \(test.tcId)")
            guard let plaintext = test.plaintext, test.applicationPassword == nil else { continue }
            let secret = RowSealing.seal(
                secret: Data(plaintext.bytes), itemClass: record.itemClass,
                constraints: record.constraints, for: binding, keys: test.keys)
            #expect(secret.bytes.count == row.secret?.count, "test \(test.tcId)")
        }
        #expect(count == 67)
    }

    // MARK: Headers

    @Test func `headers`() throws {
        let file = try VectorFile<HeaderVector2>.read("header-v2")
        #expect(file.version == 2)
        for test in file.tests {
            let header = StoreHeader(test.header.bytes, test.tiers)
            #expect(
                (header != nil) == (test.result == .valid), "test \(test.tcId): \(test.comment)")
            #expect(header.map { Hex($0.keychainID) } == test.keychainID, "test \(test.tcId)")
            #expect(header?.generation == test.generation, "test \(test.tcId)")
            #expect(header?.setAsideCount == test.setAsideCount, "test \(test.tcId)")
            #expect(header?.keybagGeneration == test.keybagGeneration, "test \(test.tcId)")
            #expect(header?.count(of: .open) == test.openCount, "test \(test.tcId)")
            #expect(
                header?.digest(of: .open).map { Hex($0.bytes) } == test.openDigest,
                "test \(test.tcId)")
            #expect(header?.count(of: .guarded) == test.guardedCount, "test \(test.tcId)")
            #expect(
                header?.digest(of: .guarded).map { Hex($0.bytes) } == test.guardedDigest,
                "test \(test.tcId)")
            if let header {
                #expect(Hex(header.encoded(with: test.tiers)) == test.header, "test \(test.tcId)")
            }
            if let rows = test.openRows {
                #expect(digest(rows, test.integrityKey) == test.openDigest, "test \(test.tcId)")
            }
            if let rows = test.guardedRows, let key = test.guardedIntegrityKey {
                #expect(digest(rows, key) == test.guardedDigest, "test \(test.tcId)")
            }
        }
        #expect(file.tests.count == 86)
    }

    /// The same comes of a header whose guarded part is opened at once and later.
    @Test func `the guarded part of a header opens when its key comes`() throws {
        var count = 0
        for test in try VectorFile<HeaderVector2>.read("header-v2").tests
        where test.guardedIntegrityKey != nil {
            let locked = StoreTiers(open: test.openTier, guarded: nil)
            guard var header = StoreHeader(test.header.bytes, locked) else {
                #expect(test.result == .invalid, "test \(test.tcId)")
                continue
            }
            count += 1
            #expect(header.digest(of: .guarded) == nil, "test \(test.tcId)")
            let isOpened = header.openGuarded(test.tiers)
            #expect(isOpened == (test.result == .valid), "test \(test.tcId): \(test.comment)")
            if isOpened {
                #expect(header == StoreHeader(test.header.bytes, test.tiers), "test \(test.tcId)")
            }
        }
        #expect(count == 28)
    }

    @Test func `a change of the guarded part counts its writes on`() throws {
        var count = 0
        for test in try VectorFile<HeaderVector2>.read("header-v2").tests {
            guard let writes = test.guardedWrites else { continue }
            count += 1
            var header = try #require(StoreHeader(test.header.bytes, test.tiers))
            try header.change(.guarded) { _, _ in }
            let written = header.encoded(with: test.tiers)
            #expect(written[112..<120] == bigEndianBytes(writes &+ 1)[...], "test \(test.tcId)")
        }
        #expect(count == 11)
    }

    private func digest(_ rows: [DigestRowVector], _ key: Hex) -> Hex {
        let authenticator = StoreAuthenticator(key: key.secret)
        let sum = rows.reduce(StoreDigest.zero) { sum, row in
            sum
                + authenticator.contribution(
                    reference: row.uuid.bytes, metadataTag: row.metadataTag.bytes)
        }
        return Hex(sum.bytes)
    }
}
