// Joining: a machine that joins and a member verify each other by digits that two people compare.
// Documentation/Synchronization.md, "Joining".
//   (1) The joiner commits to its keys and a nonce before it sees the member's nonce, and the
//       member sends its nonce before it sees the joiner's. So neither side, nor an attacker
//       between them, can choose the digits: only one in a million attacks yields the same digits
//       on both sides.
//   (2) A member accepts one opening for each commitment, and none for a commitment that it has
//       given up. After three failed attempts, a `JoinDesk` doesn't answer any more.

import KeychainCore
import KeychainCrypto

/// The messages that the two sides send to each other. They are public.
package enum Joining {
    package static let nonceByteCount = 32
    /// The number of possible codes, each of six digits.
    package static let codeCount: UInt64 = 1_000_000
    package static let failureLimit = 3

    /// The joiner's first message.
    package struct Commitment: Hashable, Sendable {
        package let circle: CircleID
        package let digest: Digest

        package init(circle: CircleID, digest: Digest) {
            self.circle = circle
            self.digest = digest
        }
    }

    /// The member's answer.
    package struct Challenge: Hashable, Sendable {
        package let commitment: Commitment
        package let member: MachineID
        /// The head of the membership log that the member knows.
        package let head: LogHead
        package let nonce: [UInt8]

        package init(
            commitment: Commitment, member: MachineID, head: LogHead, nonce: [UInt8]
        ) {
            self.commitment = commitment
            self.member = member
            self.head = head
            self.nonce = nonce
        }
    }

    /// The joiner's second message, which opens its commitment.
    package struct Opening: Hashable, Sendable {
        package let machine: MachineDescription
        package let nonce: [UInt8]

        package init(machine: MachineDescription, nonce: [UInt8]) {
            self.machine = machine
            self.nonce = nonce
        }

        package func commitment(in circle: CircleID) -> Commitment {
            var writer = ByteWriter(capacity: 1400)
            writer.bytes(Array("swift-keychain sync 1 commitment".utf8))
            circle.digest.write(to: &writer)
            writer.bytes(machine.bytes)
            writer.bytes(nonce)
            return Commitment(circle: circle, digest: Joining.digest(writer.result))
        }
    }

    /// The code that both sides show: a number from 0 to `count` - 1.
    package static func code(
        _ challenge: Challenge, _ opening: Opening, outOf count: UInt64 = codeCount
    ) -> UInt64 {
        var writer = ByteWriter(capacity: 1600)
        writer.bytes(Array("swift-keychain sync 1 digits".utf8))
        challenge.commitment.circle.digest.write(to: &writer)
        challenge.commitment.digest.write(to: &writer)
        writer.write(challenge.member)
        challenge.head.write(to: &writer)
        writer.bytes(challenge.nonce)
        writer.bytes(opening.machine.bytes)
        writer.bytes(opening.nonce)
        var reader = ByteReader(digest(writer.result).bytes)
        return (reader.number() ?? 0) % count
    }

    /// Six digits in two groups.
    package static func text(of code: UInt64) -> String {
        let digits = String(code)
        let padded = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        return "\(padded.prefix(3)) \(padded.dropFirst(3))"
    }

    private static func digest(_ bytes: [UInt8]) -> Digest {
        guard let digest = Digest(Fingerprint.sha256(of: bytes)) else {
            preconditionFailure("a digest has the wrong size")
        }
        return digest
    }
}

/// The joiner's side.
package struct Joiner: Sendable {
    package let commitment: Joining.Commitment
    private let opening: Joining.Opening
    private var challenge: Joining.Challenge?

    /// Commits to a machine's keys and a nonce of 32 random bytes.
    package init(
        _ machine: MachineDescription, circle: CircleID,
        nonce: [UInt8] = .random(count: Joining.nonceByteCount)
    ) {
        opening = Joining.Opening(machine: machine, nonce: nonce)
        commitment = opening.commitment(in: circle)
    }

    /// Takes the member's answer and opens the commitment. After an answer was accepted, further
    /// ones are rejected. The caller has verified the membership log up to the head in the answer.
    package mutating func open(
        _ challenge: Joining.Challenge, _ circle: Circle
    ) throws(SynchronizationFailure) -> Joining.Opening {
        guard self.challenge == nil else {
            throw .joining("the member answered twice")
        }
        guard challenge.commitment == commitment, circle.id == commitment.circle,
            challenge.nonce.count == Joining.nonceByteCount
        else { throw .joining("the answer is to another request") }
        guard circle.digest(at: challenge.head.index) == challenge.head.digest else {
            throw .fork("the member's membership log")
        }
        guard circle.member(challenge.member) != nil else {
            throw .notEntitled("the answer to the request isn't from a member")
        }
        self.challenge = challenge
        return opening
    }

    /// The code to show; `nil` until the member has answered.
    package var code: UInt64? { challenge.map { Joining.code($0, opening) } }
}

/// The member's side, which counts the failed attempts. In one run of a command, one `JoinDesk`
/// answers all requests, so that their failures are counted together.
package struct JoinDesk: Sendable {
    private let member: MachineID
    private var challenges: [Digest: Joining.Challenge] = [:]
    private var used: Set<Digest> = []
    private var failures = 0

    package init(member: MachineID) { self.member = member }

    /// Whether three attempts have failed, so that this object doesn't answer any further request.
    package var isClosed: Bool { failures >= Joining.failureLimit }

    /// Whether a commitment was opened or given up, so that it isn't answered any more.
    package func isUsed(_ commitment: Joining.Commitment) -> Bool {
        used.contains(commitment.digest)
    }

    /// Answers a commitment. The same commitment gets the same answer until it is opened or given
    /// up. After that, it is rejected.
    package mutating func answer(
        _ commitment: Joining.Commitment, _ circle: Circle,
        nonce: [UInt8] = .random(count: Joining.nonceByteCount)
    ) throws(SynchronizationFailure) -> Joining.Challenge {
        guard !isClosed else { throw .joining("three attempts failed") }
        guard commitment.circle == circle.id else {
            throw .misplaced("a request to join another circle")
        }
        guard !isUsed(commitment) else { throw .joining("the request was already answered") }
        if let challenge = challenges[commitment.digest] { return challenge }
        let challenge = Joining.Challenge(
            commitment: commitment, member: member, head: circle.head, nonce: nonce)
        challenges[commitment.digest] = challenge
        return challenge
    }

    /// Verifies the opening of an answered commitment.
    ///
    /// - Returns: The code to show.
    package mutating func take(
        _ opening: Joining.Opening, of commitment: Joining.Commitment
    ) throws(SynchronizationFailure) -> UInt64 {
        guard !isClosed else { throw .joining("three attempts failed") }
        guard let challenge = challenges.removeValue(forKey: commitment.digest) else {
            throw .joining("the request was not answered, or was already opened")
        }
        used.insert(commitment.digest)
        guard opening.nonce.count == Joining.nonceByteCount,
            opening.commitment(in: commitment.circle) == commitment
        else {
            failures += 1
            throw .joining("the keys are not those that the request committed to")
        }
        return Joining.code(challenge, opening)
    }

    /// Records that the joiner didn't send a readable opening of an answered commitment. The
    /// attempt failed, and the commitment is not answered again.
    package mutating func giveUp(_ commitment: Joining.Commitment) {
        challenges[commitment.digest] = nil
        used.insert(commitment.digest)
        failures += 1
    }

    /// Records a failed attempt after the opening: the digits differed, or a user refused.
    package mutating func refuse() { failures += 1 }
}
