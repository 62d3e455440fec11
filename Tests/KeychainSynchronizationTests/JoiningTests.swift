// JoiningTests: digits that two people compare, pasted codes, and tokens.

import KeychainCore
import KeychainCrypto
import KeychainSynchronization
import Testing

@Suite struct JoiningTests {
    private let member = MachineKeys.random()
    private let joiner = MachineKeys.random()
    private let attacker = MachineKeys.random()
    private let circle: Circle

    init() throws {
        let (replica, _) = try Replica.found(member, name: "", recovery: nil, created: 0)
        circle = replica.circle
    }

    @Test func `the member and the joining machine show the same digits`() throws {
        var joiner = Joiner(joiner.description, circle: circle.id)
        var desk = JoinDesk(member: member.id)
        let challenge = try desk.answer(joiner.commitment, circle)
        let opening = try joiner.open(challenge, circle)
        let code = try desk.take(opening, of: joiner.commitment)
        #expect(joiner.code == code)
        #expect(code < 1_000_000)
        #expect(Joining.text(of: 42) == "000 042")
    }

    /// Whether a man in the middle who replaces the joiner's keys can make both sides show the same
    /// digits.
    private func isDeceived(attempt: UInt64) throws -> Bool {
        func nonce(_ name: UInt8) -> [UInt8] {
            Fingerprint.sha256(of: [name, UInt8(attempt >> 8), UInt8(attempt & 255)])
        }
        var joiner = Joiner(joiner.description, circle: circle.id, nonce: nonce(1))
        var desk = JoinDesk(member: member.id)
        // The attacker must commit to its own keys and nonce before it knows the member's nonce,
        // and send a nonce to the joiner before it knows the joiner's nonce.
        let theirs = Joining.Opening(machine: attacker.description, nonce: nonce(2))
        let commitment = theirs.commitment(in: circle.id)
        let challenge = try desk.answer(commitment, circle, nonce: nonce(3))
        let forged = Joining.Challenge(
            commitment: joiner.commitment, member: member.id, head: circle.head, nonce: nonce(4))
        let opening = try joiner.open(forged, circle)
        _ = try desk.take(theirs, of: commitment)
        return Joining.code(forged, opening, outOf: 256)
            == Joining.code(challenge, theirs, outOf: 256)
    }

    @Test func `if eight bits are compared, about 1 of 256 man-in-the-middle attacks succeeds`()
        throws
    {
        let count = 4096
        var deceived = 0
        for attempt in 0..<UInt64(count) where try isDeceived(attempt: attempt) { deceived += 1 }
        // Of 4096 attempts, 16 are expected to succeed, with a standard deviation of 4.
        #expect((2...34).contains(deceived))
    }

    @Test func `without the commitment a man in the middle always succeeds`() throws {
        let early = Joining.Commitment(circle: circle.id, digest: .zero)
        var desk = JoinDesk(member: member.id)
        for attempt: UInt8 in 0..<20 {
            var joiner = Joiner(joiner.description, circle: circle.id)
            // The attacker learns the joiner's keys and nonce first.
            let challenge = Joining.Challenge(
                commitment: joiner.commitment, member: member.id, head: circle.head,
                nonce: [UInt8](repeating: attempt, count: 32))
            let seen = Joining.code(
                challenge, try joiner.open(challenge, circle), outOf: 256)
            desk = JoinDesk(member: member.id)
            let answer = try desk.answer(early, circle)
            // The attacker then chooses a nonce that leads to the digits that the joiner shows.
            let found = (0..<65536).contains { number in
                let nonce = Fingerprint.sha256(of: [UInt8(number >> 8), UInt8(number & 255)])
                let opening = Joining.Opening(machine: attacker.description, nonce: nonce)
                return Joining.code(answer, opening, outOf: 256) == seen
            }
            #expect(found)
        }
        // Therefore the member accepts only an opening that matches the commitment it answered.
        #expect(throws: SynchronizationFailure.self) {
            try desk.take(
                Joining.Opening(
                    machine: attacker.description, nonce: [UInt8](repeating: 1, count: 32)),
                of: early)
        }
    }

    @Test func `a failed commitment isn't answered again, nor any commitment after three failures`()
        throws
    {
        var desk = JoinDesk(member: member.id)
        let joiner = Joiner(joiner.description, circle: circle.id)
        _ = try desk.answer(joiner.commitment, circle)
        let wrong = Joining.Opening(
            machine: attacker.description, nonce: [UInt8](repeating: 1, count: 32))
        #expect(throws: SynchronizationFailure.self) {
            try desk.take(wrong, of: joiner.commitment)
        }
        #expect(throws: SynchronizationFailure.self) { try desk.answer(joiner.commitment, circle) }
        let other = Joiner(attacker.description, circle: circle.id)
        _ = try desk.answer(other.commitment, circle)
        #expect(!desk.isUsed(other.commitment))
        desk.giveUp(other.commitment)
        #expect(desk.isUsed(other.commitment))
        #expect(!desk.isClosed)
        #expect(throws: SynchronizationFailure.self) { try desk.answer(other.commitment, circle) }
        desk.refuse()
        #expect(desk.isClosed)
        let last = Joiner(attacker.description, circle: circle.id)
        #expect(throws: SynchronizationFailure.self) { try desk.answer(last.commitment, circle) }
    }

    @Test func `a joiner opens its commitment only once, and only to a member of its circle`()
        throws
    {
        var joiner = Joiner(joiner.description, circle: circle.id)
        func challenge(_ member: MachineID, _ head: LogHead) -> Joining.Challenge {
            Joining.Challenge(
                commitment: joiner.commitment, member: member, head: head,
                nonce: [UInt8](repeating: 7, count: 32))
        }
        for wrong in [
            challenge(attacker.id, circle.head),
            challenge(member.id, LogHead(index: 1, digest: .zero)),
            challenge(member.id, LogHead(index: 2, digest: circle.head.digest)),
        ] {
            #expect(throws: SynchronizationFailure.self) { try joiner.open(wrong, circle) }
        }
        _ = try joiner.open(challenge(member.id, circle.head), circle)
        #expect(throws: SynchronizationFailure.self) {
            try joiner.open(challenge(member.id, circle.head), circle)
        }
    }

    @Test func `the text of a pasted code can be parsed, and codes differ by key and log head`()
        throws
    {
        let code = PastedCode(joiner: joiner.description)
        let text = code.description
        #expect(text.count == 30)
        #expect(PastedCode(text) == code)
        #expect(PastedCode(text.lowercased() + "\n") == code)
        #expect(PastedCode(String(text.dropLast())) == nil)
        #expect(PastedCode(String(text.dropLast()) + "U") == nil)
        #expect(PastedCode(joiner: attacker.description) != code)
        #expect(
            PastedCode(circle: circle.id, head: circle.head)
                != PastedCode(circle: circle.id, head: .empty))
    }

    // MARK: Tokens

    @Test func `a token can be used once, before it expires, by a machine that has it`() throws {
        let token = try JoinToken(for: .all, expires: 1000, in: circle, by: member)
        let read = try #require(JoinToken(decoding: Array(token.bytes.data)))
        let request = try read.request(for: joiner.description)
        try request.verify(in: circle, now: 999)
        #expect(throws: SynchronizationFailure.self) {
            try request.verify(in: circle, now: 1000)
        }
        let stolen = JoinToken.Request(
            grant: request.grant, machine: attacker.description, signature: request.signature)
        #expect(throws: SynchronizationFailure.self) { try stolen.verify(in: circle, now: 0) }

        func entry(_ keys: MachineKeys, after circle: Circle) throws -> MembershipEntry {
            try MembershipEntry(
                .add(
                    .init(
                        machine: keys.description, scope: .all, token: request.grant.id,
                        sealedName: [], heads: [:])),
                after: circle.head, in: circle.id, created: 0, by: member)
        }
        // If a member hasn't read the membership entry to which a token refers, it refuses the
        // token, but reports a gap instead of a forgery.
        var grown = circle
        try grown.append(entry(joiner, after: grown))
        let later = try JoinToken(for: .all, expires: 1000, in: grown, by: member)
        let early = try #require(JoinToken(decoding: Array(later.bytes.data)))
            .request(for: attacker.description)
        #expect {
            try early.verify(in: circle, now: 0)
        } throws: {
            if case .gap = $0 as? SynchronizationFailure { true } else { false }
        }

        var used = circle
        try used.append(entry(joiner, after: used))
        let before = used
        #expect(throws: SynchronizationFailure.self) { try request.verify(in: before, now: 0) }
        let again = try entry(attacker, after: used)
        #expect(throws: SynchronizationFailure.self) { try used.append(again) }
        #expect(used == before)
    }

    @Test func `a token that was altered or wasn't signed by a member is refused`() throws {
        let foreign = try JoinToken(for: .all, expires: 1000, in: circle, by: attacker)
        let request = try foreign.request(for: joiner.description)
        #expect(throws: SynchronizationFailure.self) { try request.verify(in: circle, now: 0) }
        let token = try JoinToken(for: .all, expires: 1000, in: circle, by: member)
        let bytes = Array(token.bytes.data)
        for position in bytes.indices {
            var altered = bytes
            altered[position] ^= 1
            guard let read = JoinToken(decoding: altered) else { continue }
            #expect(throws: SynchronizationFailure.self) {
                try read.request(for: joiner.description).verify(in: circle, now: 0)
            }
        }
    }
}
