// AcceptanceTests: the rows of Documentation/Synchronization.md, "What a reader rejects, and what
// it accepts". The tests sign entries with a member's keys. The entries are such as no machine of
// this project writes.

import Crypto
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSQLite
import KeychainSynchronization
import Testing

@Suite struct `What a reader accepts` {
    private let server = TestServer()
    private let a: TestMachine
    private let b: TestMachine

    init() throws {
        (a, b) = try TestMachine.pair(server)
    }

    // MARK: Making entries

    private func head(of machine: TestMachine) throws -> LogHead {
        let log = try #require(server.logs[machine.id])
        let last = try #require(log.keys.max().flatMap { log[$0] })
        return try LogEntry(decoding: last).head
    }

    /// Signs the next entry of machine a's log.
    private func entry(
        _ parts: [LogEntry.Part] = [], _ change: (inout LogEntry.Frame) throws -> Void = { _ in }
    ) throws -> LogEntry {
        let circle = try server.circle()
        var frame = LogEntry.Frame(
            circle: circle.id, writer: a.id, previous: try head(of: a), membership: circle.head,
            first: a.replica.firstNeeded, acknowledged: [:], isClean: false)
        try change(&frame)
        return try LogEntry(frame, parts, by: a.replica.keys)
    }

    /// Encodes and decodes an entry, and expects that machine b accepts it without a notice.
    private func expectAccepted(
        _ entry: LogEntry, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let changes = try b.replica.take(LogEntry(decoding: entry.bytes))
        #expect(changes == [], sourceLocation: sourceLocation)
        #expect(b.replica.notices == [], sourceLocation: sourceLocation)
        #expect(b.replica.nextIndex(of: a.id) == entry.index + 1, sourceLocation: sourceLocation)
        server.append(entry)
    }

    private func rejection(of entry: LogEntry) -> SynchronizationFailure? {
        do throws(SynchronizationFailure) {
            _ = try b.replica.take(LogEntry(decoding: entry.bytes))
            return nil
        } catch {
            return error
        }
    }

    private func isFork(_ failure: SynchronizationFailure?) -> Bool {
        if case .fork = failure { true } else { false }
    }

    // MARK: Encodings

    @Test func `an index above 2^53 is rejected`() throws {
        let limit: UInt64 = 1 << 53
        for index in [limit, limit + 1] {
            let isDecoded = index == limit
            let late = try entry { $0.previous = LogHead(index: index - 1, digest: .zero) }
            #expect(((try? LogEntry(decoding: late.bytes)) != nil) == isDecoded)
            let named = try entry { frame in
                frame.acknowledged = [b.id: LogHead(index: index, digest: frame.previous.digest)]
            }
            #expect(((try? LogEntry(decoding: named.bytes)) != nil) == isDecoded)
            let head = try SignedHead(
                LogHead(index: index, digest: named.digest), membership: .empty, moment: 0,
                in: named.frame.circle, by: a.replica.keys)
            #expect(((try? SignedHead(decoding: head.bytes)) != nil) == isDecoded)
        }
    }

    @Test func `empty lists are accepted`() throws {
        let c = try a.add("third", scope: .groups([]))
        try converge(a, b, c)
        #expect(b.replica.circle.member(c.id)?.scope == .groups([]))
        #expect(c.values == [:])
        try expectAccepted(entry())
        let content = KeyGrant.Content(
            circleKey: try #require(a.replica.circleKey), groupKeys: [])
        let grant = try KeyGrant(
            content, to: b.replica.keys.description, from: a.id, in: a.replica.circle.id)
        try expectAccepted(entry([.grant(grant), .wanted([])]))
    }

    @Test func `a signature is accepted with a small s and with a large one`() throws {
        let one = try entry()
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2,
            0xFC, 0x63, 0x25, 0x51,
        ]
        // The other signature of the same entry has the order of the curve minus s.
        var bytes = one.bytes
        var borrow = 0
        for (place, digit) in zip(bytes.indices.suffix(32), order).reversed() {
            let difference = Int(digit) - Int(bytes[place]) - borrow
            borrow = difference < 0 ? 1 : 0
            bytes[place] = UInt8(truncatingIfNeeded: difference)
        }
        let other = try LogEntry(decoding: bytes)
        #expect(other.signature != one.signature && other.digest == one.digest)
        for entry in [one, other] {
            let reader = TestMachine(b.replica, server)
            _ = try reader.replica.take(entry)
            #expect(reader.replica.notices == [])
        }
    }

    @Test
    func `an unreadable name counts as no name, and a sealed name of over 512 bytes is rejected`()
        throws
    {
        for count in [0, 40, 512, 513] {
            let machine = MachineKeys.random()
            let addition = MembershipEntry.Addition(
                machine: machine.description, scope: .all, token: nil,
                sealedName: [UInt8](repeating: 7, count: count), heads: [:])
            let entry = try a.replica.change(.add(addition), created: 0)
            guard count <= 512 else {
                #expect(throws: SynchronizationFailure.self) {
                    try MembershipEntry(decoding: entry.bytes)
                }
                continue
            }
            for reader in [a, b] {
                try reader.replica.take(MembershipEntry(decoding: entry.bytes))
                #expect(reader.replica.name(of: machine.id) == nil)
                #expect(reader.replica.notices == [])
            }
        }
    }

    // MARK: Heads

    @Test func `heads may name an empty log, the writer's own, and an unknown machine's`() throws {
        let stranger = MachineKeys.random().id
        try expectAccepted(
            entry { frame in
                frame.acknowledged = [
                    a.id: frame.previous, b.id: .empty,
                    stranger: LogHead(index: 7, digest: frame.previous.digest),
                ]
            })
        // Entries that state only one head are accepted too, even if each states an earlier head of
        // the same log than the entry before.
        let heads = try server.logs[b.id].map { log in
            try log.values.map { try LogEntry(decoding: $0).head }
        }
        for head in try #require(heads).sorted(by: { $0.index > $1.index }) {
            try expectAccepted(entry { $0.acknowledged = [b.id: head] })
        }
    }

    @Test
    func `an entry waits if it names a head of the membership log that the reader doesn't know`()
        throws
    {
        let unknown = LogHead(index: 9, digest: .zero)
        guard case .gap = rejection(of: try entry { $0.membership = unknown }) else {
            Issue.record("An entry that names entry 9 doesn't wait.")
            return
        }
        #expect(b.replica.notices == [])
        guard case .malformed = rejection(of: try entry { $0.membership = .empty }) else {
            Issue.record("An entry that names entry 0 isn't rejected.")
            return
        }
        let other = try entry { frame in
            frame.membership = LogHead(index: frame.membership.index, digest: .zero)
        }
        #expect(isFork(rejection(of: other)))
    }

    @Test
    func `a stated head of another log is compared only at the last entry that was read`() throws {
        let c = try a.add("third")
        for value in ["1", "2"] {
            try c.set("two", value)
            try converge(a, b, c)
        }
        let last = try head(of: c)
        let other = try head(of: a).digest
        let forked = try entry {
            $0.acknowledged = [c.id: LogHead(index: last.index, digest: other)]
        }
        #expect(isFork(rejection(of: forked)))
        #expect(b.replica.notices.count == 1)
        let signed = try SignedHead(
            LogHead(index: last.index, digest: other), membership: .empty, moment: 0,
            in: forked.frame.circle, by: c.replica.keys)
        #expect(throws: SynchronizationFailure.self) { try b.replica.take(signed) }
        let notices = b.replica.notices
        let early = try entry { $0.acknowledged = [c.id: LogHead(index: 1, digest: other)] }
        #expect(last.index > 1)
        #expect(rejection(of: early) == nil)
        #expect(b.replica.notices == notices)
    }

    @Test
    func `a head beyond a log's end is a fork in the reader's own log, and withholding in others`()
        throws
    {
        let c = try a.add("third")
        try converge(a, b, c)
        let (mine, theirs) = (try head(of: b), try head(of: c))
        let beyond = { (head: LogHead) in LogHead(index: head.index + 2, digest: head.digest) }
        #expect(isFork(rejection(of: try entry { $0.acknowledged = [b.id: beyond(mine)] })))
        #expect(rejection(of: try entry { $0.acknowledged = [c.id: beyond(theirs)] }) == nil)
        #expect(b.replica.withheld == [c.id: 2])
    }

    @Test
    func `an entry that differs from the head stated in the reader's addition is a fork`() throws {
        let c = try a.add("third")
        let named = try #require(c.replica.circle.member(c.id)?.heads[a.id])
        let other = try entry { frame in
            frame.previous = LogHead(index: named.index - 1, digest: frame.previous.digest)
            frame.first = 1
        }
        c.replica.skip(a.id, to: named.index)
        #expect(throws: SynchronizationFailure.self) { try c.replica.take(other) }
        #expect(c.replica.notices.contains(where: isFork))
    }

    /// Here, the reader doesn't know the head of the last entry in the gap. ReturningTests tests a
    /// reader that keeps this head.
    @Test func `the first entry after a gap may name any previous entry`() throws {
        let digest = try #require(Digest([UInt8](repeating: 7, count: 32)))
        let late = try entry { frame in
            frame.previous = LogHead(index: frame.previous.index + 3, digest: digest)
        }
        b.replica.skip(a.id, to: late.index)
        #expect(rejection(of: late) == nil)
        #expect(b.replica.notices == [])
    }

    // MARK: Keys and limits

    /// The layout is that of Documentation/Synchronization.md, "Keys".
    private func grantBytes(_ keys: [GroupKey], to recipient: MachineDescription) throws -> [UInt8]
    {
        var plaintext = Data()
        plaintext.append(try #require(a.replica.circleKey).bytes.data)
        plaintext.append(contentsOf: bigEndianBytes(UInt64(keys.count)).suffix(2))
        for key in keys {
            plaintext.append(contentsOf: bigEndianBytes(key.epoch))
            plaintext.append(contentsOf: bigEndianBytes(UInt64(key.group.utf8.count)).suffix(4))
            plaintext.append(contentsOf: key.group.utf8)
            plaintext.append(key.bytes.data)
        }
        let identifiers =
            Array(bigEndianBytes(UInt64(keys.count)).suffix(2))
            + keys.map(\.id).sorted().flatMap(\.bytes)
        let circle = a.replica.circle.id
        var info = Data("swift-keychain sync 1 grant".utf8)
        for bytes in [circle.digest.bytes, a.id.bytes.bytes, recipient.id.bytes.bytes] {
            info.append(contentsOf: bytes)
        }
        info.append(contentsOf: identifiers)
        var sender = try HPKE.Sender(
            recipientKey: XWingMLKEM768X25519.PublicKey(
                rawRepresentation: recipient.agreementKey),
            ciphersuite: .XWingMLKEM768X25519_SHA256_AES_GCM_256, info: info)
        let ciphertext = try sender.seal(plaintext)
        return [2] + recipient.id.bytes.bytes + identifiers + sender.encapsulatedKey
            + bigEndianBytes(UInt64(ciphertext.count)).suffix(4) + ciphertext
    }

    /// Signs the next entry of machine a's log, with one part, which is given as bytes.
    private func entry(part: [UInt8]) throws -> LogEntry {
        let empty = try entry()
        let bytes = Array(empty.bytes.dropLast(64 + 2)) + [0, 1] + part
        return try LogEntry(decoding: bytes + a.replica.keys.signer.signature(over: bytes))
    }

    @Test(arguments: [false, true])
    func `group keys are accepted from a grant in any order`(isDescending: Bool) throws {
        let circle = a.replica.circle.id
        let keys = (0..<4).map { GroupKey.random(epoch: 0, group: "new \($0)", in: circle) }
            .sorted { ($0.id < $1.id) != isDescending }
        let part = try grantBytes(keys, to: b.replica.keys.description)
        try expectAccepted(entry(part: part))
        #expect(keys.allSatisfy { b.replica.groupKeys[$0.id] != nil })
    }

    @Test func `a grant with a group's name of over 1024 bytes is passed over as a whole`() throws {
        let circle = a.replica.circle.id
        for count in [1024, 1025] {
            let keys = [
                GroupKey.random(epoch: 0, group: "new \(count)", in: circle),
                GroupKey.random(
                    epoch: 0, group: String(repeating: "x", count: count), in: circle),
            ]
            let part = try grantBytes(keys, to: b.replica.keys.description)
            let one = try entry(part: part)
            #expect(rejection(of: one) == nil)
            server.append(one)
            for key in keys { #expect((b.replica.groupKeys[key.id] != nil) == (count == 1024)) }
        }
        #expect(b.replica.notices.count == 1)
    }

    @Test func `an entry of more than 1 MiB is rejected`() throws {
        let count = (1 << 20) - (try entry().bytes.count)
        // The list of wanted keys has a kind (1 byte), a count (2) and identifiers of 16 bytes.
        let most = (count - 3) / 16
        func wanted(_ count: Int) -> Set<Bytes16> {
            Set((0..<count).map { Bytes16(high: 7, low: UInt64($0)) })
        }
        let large = try entry([.wanted(wanted(most))])
        #expect(large.bytes.count > (1 << 20) - 16 && large.bytes.count <= 1 << 20)
        let larger = try entry([.wanted(wanted(most + 1))])
        #expect(throws: SynchronizationFailure.self) { try LogEntry(decoding: larger.bytes) }
        try expectAccepted(large)
    }

    /// A reader passes over a version whose plaintext can't be decoded.
    @Test func `a version whose item is too large isn't decoded`() throws {
        let record = TestMachine.record("large", at: 900_000_000)
        let most = SynchronizedItem.byteLimit - record.encoded().count
        let item = try #require(SynchronizedItem(record, .whenUnlocked, data: Data(count: most)))
        let encoded = item.encoded()
        #expect(SynchronizedItem(decoding: encoded) != nil)
        let larger =
            encoded.dropLast(most + 4) + bigEndianBytes(UInt64(most + 1)).suffix(4)
            + [UInt8](repeating: 0, count: most + 1)
        #expect(SynchronizedItem(decoding: Array(larger)) == nil)
    }
}
