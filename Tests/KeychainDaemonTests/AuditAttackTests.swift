// AuditAttackTests: what verification reports about an audit that an attacker with write access to
// its folder has changed.

import Foundation
import KeychainCore
import KeychainCrypto
import TestPrograms
import Testing

@testable import KeychainDaemon

@Suite(.serialized) struct `Attacks on the audit` {
    /// An audit with twelve records: the start, ten requests and the end.
    private func sample() throws -> AuditSample {
        let sample = try AuditSample()
        try sample.write(10)
        return sample
    }

    @Test func `an unchanged audit has no findings, unless it is verified with another key`() throws
    {
        let sample = try sample()
        let found = try sample.verify()
        #expect(found.findings.isEmpty)
        #expect(found.validCount == 12)
        #expect(found.witness?.count == 12)
        // The user would have noted the key as words.
        let typed = try sample.key().words.joined(separator: " ")
        let key = try RecoveryCode(words: SecretBytes(copying: Array(typed.utf8)))
        try sample.folder.eraseVerificationKey(of: sample.position().chain)
        #expect(try sample.folder.verificationKey(of: sample.position().chain) == nil)
        #expect(try sample.verify(key).findings.isEmpty)
        #expect(try sample.verify(.random()).findings == [.otherKey])
    }

    @Test(arguments: [1, 5, 11])
    func `a deleted record is reported as missing, with its number`(_ number: Int) throws {
        let sample = try sample()
        try sample.change { $0.remove(at: number) }
        #expect(try sample.findings() == [.missing(UInt64(number)...UInt64(number))])
    }

    @Test func `two records that were swapped are reported`() throws {
        let sample = try sample()
        try sample.change { $0.swapAt(5, 6) }
        #expect(
            try sample.findings() == [.missing(5...5), .misplaced(5, file: sample.file)])
    }

    @Test func `a duplicated record is reported`() throws {
        let sample = try sample()
        try sample.change { $0.insert($0[5], at: 6) }
        #expect(try sample.findings() == [.misplaced(5, file: sample.file)])
    }

    @Test(arguments: 0..<10)
    func `a changed field is reported with the number of its record`(_ field: Int) throws {
        let sample = try sample()
        try sample.change { lines in
            var fields = lines[5].split(separator: " ").map(String.init)
            try #require(fields.count == 10)
            // A letter is replaced by a letter, and any other character by a digit.
            let last = try #require(fields[field].last)
            fields[field].removeLast()
            fields[field].append(last == "1" ? "2" : last == "a" ? "b" : last.isLetter ? "a" : "1")
            lines[5] = fields.joined(separator: " ")
        }
        // If the changed field is the record number, and another record has the new number, the
        // line is reported as that record, in the wrong place.
        #expect(
            try sample.findings()
                == (field == 0
                    ? [.misplaced(1, file: sample.file), .missing(5...5)]
                    : [.altered(5, file: sample.file)]))
    }

    @Test(arguments: ["", "x", "5", "18446744073709551615 0 0 0 - find - 0 - 00"])
    func `a line that can't be parsed as a record is reported as altered`(_ line: String) throws {
        let sample = try sample()
        try sample.change { $0[5] = line }
        #expect(try sample.findings() == [.altered(5, file: sample.file)])
    }

    @Test func `a changed header line of an audit file is reported`() throws {
        let sample = try sample()
        try sample.change { $0[0] = $0[0].replacing(" 1 ", with: " 2 ") }
        #expect(try sample.findings() == [.altered(1, file: sample.file)])
    }

    @Test(arguments: [1, 3, 12])
    func `records cut off at the end are reported as missing`(_ count: Int) throws {
        let sample = try sample()
        try sample.change { $0.removeLast(count) }
        #expect(try sample.findings() == [.missing(UInt64(13 - count)...12)])
    }

    @Test func `all records of a deleted file are reported as missing`() throws {
        let sample = try sample()
        try FileManager.default.removeItem(atPath: sample.file)
        #expect(try sample.findings() == [.missing(1...12)])
    }

    @Test
    func `after an earlier copy of a file is put back, the later records are reported as missing`()
        throws
    {
        let sample = try sample()
        let (path, early) = (try sample.file, try Data(contentsOf: URL(filePath: sample.file)))
        try sample.write(5)
        try early.write(to: URL(filePath: path))
        #expect(try sample.findings() == [.missing(13...19)])
    }

    @Test
    func `rolling back file and anchor is detected by comparing with a position noted elsewhere`()
        throws
    {
        let sample = try sample()
        let early = try sample.snapshot()
        try sample.write(5)
        let witness = try #require(try sample.verify().witness)
        // The service's log contains this position too.
        #expect(sample.log.all.contains("notice audit: ended, \(witness.description)\n"))
        try sample.restore(early)
        #expect(try sample.findings().isEmpty, "nothing in the folder shows the rollback")
        #expect(try sample.findings(expecting: witness) == [.missing(13...19)])
        // Writing the same number of new records doesn't hide the rollback, because the new records
        // differ from the original records.
        try sample.write(5)
        #expect(try sample.verify().witness?.count == witness.count)
        #expect(try sample.findings(expecting: witness) == [.otherHead(19)])
    }

    @Test
    func `missing records are reported up to a position noted elsewhere, however large its number`()
        throws
    {
        let sample = try sample()
        let next = try sample.position().next
        for count in [next, next + 100_000_000, .max] {
            let found = try sample.verify(
                expecting: AuditWitness(count: count, head: String(repeating: "0", count: 32)))
            #expect(found.findings == [.missing(next...count)])
            #expect(!found.isExpectedReached)
        }
        // The head of an audit without records consists of zeros.
        for (digit, findings) in [("0", []), ("1", [AuditFinding.otherHead(0)])] {
            let found = try sample.verify(
                expecting: AuditWitness(count: 0, head: String(repeating: digit, count: 32)))
            #expect(found.findings == findings)
            #expect(found.isExpectedReached)
        }
    }

    @Test func `an anchor whose record number is the largest possible one is refused`() throws {
        let sample = try sample()
        var bytes = try sample.position().encoded.plainBytes
        // The number follows the magic, the version and the audit's identifier. The checksum has no
        // key.
        bytes.replaceSubrange(24..<32, with: [UInt8](repeating: 0xFF, count: 8))
        let body = SecretBytes(copying: Array(bytes.dropLast(16)))
        bytes.replaceSubrange(144..<160, with: body.sha256.prefix(16))
        #expect(AuditPosition(SecretBytes(copying: bytes)) == nil)
        bytes.replaceSubrange(24..<32, with: [0] + [UInt8](repeating: 0xFF, count: 7))
        let other = SecretBytes(copying: Array(bytes.dropLast(16)))
        bytes.replaceSubrange(144..<160, with: other.sha256.prefix(16))
        #expect(AuditPosition(SecretBytes(copying: bytes)) != nil)
    }

    @Test func `a deleted anchor, and the anchor of an audit started anew, are reported`() throws {
        let sample = try sample()
        let key = try sample.key()
        try FileManager.default.removeItem(atPath: sample.folder.anchorPath)
        #expect(try sample.verify(key).findings == [.noAnchor])
        try sample.write(1)
        let other = try sample.position().chain
        #expect(try sample.verify(key).findings == [.otherAnchor(other)])
        #expect(try sample.verify().findings.isEmpty)
        #expect(
            sample.log.all.contains { $0.hasPrefix("error the previous audit can't be continued") })
    }

    @Test func `an anchor with a changed byte is reported`() throws {
        let sample = try sample()
        let key = try sample.key()
        var bytes = try Data(contentsOf: URL(filePath: sample.folder.anchorPath))
        bytes[40] ^= 1
        try bytes.write(to: URL(filePath: sample.folder.anchorPath))
        #expect(try sample.verify(key).findings == [.alteredAnchor])
    }

    // MARK: An attacker who has taken over the service

    /// The state of the service that the attacker has taken over. The attacker forges records from
    /// this state.
    private struct Takeover {
        var position: AuditPosition

        /// A forged line with the current key and any record number.
        mutating func line(_ number: UInt64) -> String {
            let record = AuditRecord(
                number: number, user: 0, process: 1, identity: "/innocent", operation: "find")
            let encoded = record.encoded
            let tag = position.key.tag(of: encoded)
            let line = AuditRecord.line(encoded, tag: tag)
            position.advance(over: tag, byteCount: line.count)
            return String(decoding: line.dropLast(), as: UTF8.self)
        }
    }

    @Test func `the service's current state doesn't suffice to forge earlier records`() throws {
        let sample = try AuditSample()
        try sample.write(10, isKilled: true)
        let taken = Takeover(position: try sample.position())
        #expect(taken.position.next == 12)
        let whole = try sample.snapshot()

        // One record is forged, with the current key and with each of the 19 keys after it.
        for steps in 0..<20 {
            var attacker = taken
            for _ in 0..<steps { _ = attacker.line(1) }
            try sample.change { $0[5] = attacker.line(5) }
            #expect(try sample.findings() == [.altered(5, file: sample.file)])
            try sample.restore(whole)
        }
        // All records from number 5 on are forged. They are verified with the service's anchor, and
        // then with a forged anchor, which contains the position after the forged records.
        var attacker = taken
        try sample.change { lines in
            lines.removeSubrange(5...)
            for number in UInt64(5)...11 { lines.append(attacker.line(number)) }
        }
        #expect(try sample.findings().count >= 7)
        try sample.write(attacker.position)
        #expect(try sample.findings().contains(.altered(5, file: sample.file)))
        try sample.restore(whole)
        // The records from number 5 on are cut off, and the anchor says that 5 is the next number.
        // The anchor contains either the current key or the key after the current key.
        try sample.change { $0.removeSubrange(5...) }
        for key in [taken.position.key, taken.position.key.next()] {
            let bytes = taken.position.encoded.plainBytes
            var forged = Array(bytes[..<144])
            forged.replaceSubrange(24..<32, with: [0, 0, 0, 0, 0, 0, 0, 5])
            forged.replaceSubrange(32..<64, with: key.bytes.plainBytes)
            forged += Fingerprint.sha256(of: forged).prefix(16)
            let anchor = try #require(AuditPosition(SecretBytes(copying: forged)))
            #expect(anchor.next == 5)
            try sample.write(anchor)
            #expect(try sample.findings().contains(.alteredAnchor))
        }
        try sample.restore(whole)

        // The attacker holds the keys of all later records, so later records can be forged. The
        // guarantee covers only earlier records.
        attacker = taken
        try sample.change { $0.append(attacker.line(12)) }
        try sample.write(attacker.position)
        #expect(try sample.findings().isEmpty)
    }

    @Test
    func `keys of records already written aren't in memory, and the anchor holds the next key`()
        throws
    {
        let sample = try AuditSample()
        let trail = try sample.trail()
        for number in 0..<10 { try AuditSample.request(trail, "account \(number)") }
        // The test searches for a key as it is, and XORed with HMAC's inner and outer padding.
        func needles(_ key: AuditKey) -> [Needle] {
            [0, 0x36, 0x5C].map { pad in
                // SAFETY: the key is read byte by byte, so that no plain copy is made.
                Needle(
                    masked: unsafe key.bytes.withUnsafeBytes { bytes in
                        unsafe bytes.map { $0 ^ pad ^ Needle.mask }
                    })
            }
        }
        let (earlier, current) = try {
            var key = AuditOrigin(try sample.key()).firstKey
            var earlier: [Needle] = []
            for number in 1...11 {
                // The test searches for the keys of record 5 and of record 11, which is the last.
                if number == 5 || number == 11 { earlier += needles(key) }
                key = key.next()
            }
            #expect(key.bytes.isEqual(to: try sample.position().key.bytes))
            return (earlier, needles(key))
        }()
        MemoryScrubber.eraseFreedMemory()
        #expect(try current[1].occurrenceCount() > 0, "the search finds a key that is in memory")
        var found = 0
        for needle in earlier { found += try needle.occurrenceCount() }
        #expect(found == 0)
        trail.stop()
    }
}
