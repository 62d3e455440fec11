// MemberConversation: the member's side when a machine joins with six digits.
// Documentation/Synchronization.md, "Records of joining".
//   (1) One request is answered at a time. Once the server has been given the challenge, the
//       attempt counts as failed if the server doesn't store the challenge, if the joiner refuses,
//       or if the commitment isn't opened in time or is opened with other keys. The commitment of a
//       failed attempt is not answered again. Otherwise, an attacker could have many requests
//       answered, and open the one whose digits happen to be those that the joiner shows.
//   (2) The conversation adds no machine. The caller does, once the user has confirmed the digits.

package import KeychainSynchronization

package actor MemberConversation {
    /// A machine that wants to join, and the digits to compare with those that it shows.
    package struct Candidate: Hashable, Sendable {
        package let machine: MachineDescription
        package let digits: String
        fileprivate let attempt: JoinAttempt
        /// The record with the joiner's keys.
        fileprivate let opening: [UInt8]
    }

    private let circle: CircleID
    private let known: LogHead
    private let store: any RecordStore
    private let keys: RecordKeys
    private let timing: JoiningTiming
    private var desk: JoinDesk

    /// - Parameters:
    ///   - member: This machine.
    ///   - circle: Its circle.
    ///   - known: The head of the membership log in its keychain. The server's membership log is
    ///     rejected if it doesn't continue the log in the keychain.
    ///   - store: The server.
    ///   - timing: How long the steps may take.
    package init(
        member: MachineID, circle: CircleID, known: LogHead, store: any RecordStore,
        timing: JoiningTiming = JoiningTiming()
    ) {
        self.circle = circle
        self.known = known
        self.store = store
        self.timing = timing
        keys = RecordKeys(circle: circle.description)
        desk = JoinDesk(member: member)
    }

    /// Whether three attempts have failed, so that no further request is answered.
    package var isClosed: Bool { desk.isClosed }

    // MARK: The exchange

    /// Waits for a machine that wants to join, and exchanges the messages with it.
    ///
    /// - Returns: The machine. The caller has the user compare its digits, and then calls
    ///   ``confirm(_:)`` or ``refuse(_:)``.
    /// - Throws: ``JoiningFailure`` if no machine asks or the server doesn't have the circle;
    ///   ``SynchronizationFailure`` if a machine's message or the server's membership log is
    ///   rejected, or if three attempts have failed. This can be called again until ``isClosed``.
    package func next() async throws -> Candidate {
        while true {
            guard !desk.isClosed else {
                throw SynchronizationFailure.joining("three attempts failed")
            }
            let commitment = try await latestRequest()
            if let candidate = try await exchange(after: commitment) { return candidate }
        }
    }

    /// Waits for a request that no member has answered, and that was not refused. The server may
    /// hide an answer of this member, so a request that `desk` has already used is skipped.
    private func latestRequest() async throws -> Joining.Commitment {
        let (store, keys, circle, desk) = (store, keys, circle, desk)
        return try await timing.wait(for: .joiner, within: timing.limit) {
            () async throws -> Joining.Commitment? in
            let records = try await store.smallRecords(keys.joining).records
            return Self.open(records, keys, circle).map(\.commitment).first { !desk.isUsed($0) }
        }
    }

    /// The requests whose attempts have no other record, the latest first: a user starts both
    /// sides, one after the other, and earlier requests may come from processes that have ended.
    private static func open(
        _ records: [StoredRecord], _ keys: RecordKeys, _ circle: CircleID
    ) -> [Joining.Request] {
        var requests: [Joining.Request] = []
        var answered: Set<String> = []
        for record in records {
            guard let (attempt, part) = keys.joiningPart(ofKey: record.key) else { continue }
            guard part == .request else {
                answered.insert(attempt)
                continue
            }
            guard let request = try? Joining.Request(decoding: record.value),
                request.commitment.circle == circle,
                JoinAttempt(request.commitment).name == attempt
            else { continue }
            requests.append(request)
        }
        return requests.filter { !answered.contains(JoinAttempt($0.commitment).name) }
            .sorted {
                ($0.created, $0.commitment.digest) > ($1.created, $1.commitment.digest)
            }
    }

    /// Answers a request and takes the keys that it committed to.
    ///
    /// - Returns: `nil` if another member has answered, or if the joiner refuses or doesn't send
    ///   its keys in time.
    private func exchange(after commitment: Joining.Commitment) async throws -> Candidate? {
        let attempt = JoinAttempt(commitment)
        let records = AttemptRecords(store, keys, attempt)
        let log = try await CircleDirectory(store).log(of: circle, continuing: known)
        let challenge = try desk.answer(commitment, log.circle)
        let bytes: [UInt8]
        do {
            try await records.create(.challenge, challenge.bytes)
            bytes = try await openingBytes(in: records)
        } catch {
            // Whatever the server says, it may know the nonce now.
            desk.giveUp(commitment)
            guard let failure = error as? JoiningFailure else { throw error }
            // The records of an attempt that another member has answered are left to that member.
            if failure != .occupied { try await records.delete() }
            return nil
        }
        do {
            let opening = try decoded(bytes, of: commitment)
            let code = try desk.take(opening, of: commitment)
            return Candidate(
                machine: opening.machine, digits: Joining.text(of: code), attempt: attempt,
                opening: bytes)
        } catch {
            try await records.create(.refusal, Joining.refusal)
            throw error
        }
    }

    /// Waits for the joiner's second message.
    ///
    /// - Throws: ``JoiningFailure`` if it doesn't come, or the joiner refuses.
    private func openingBytes(in records: AttemptRecords) async throws -> [UInt8] {
        try await timing.wait(for: .joiner, within: timing.stepLimit) {
            () async throws -> [UInt8]? in
            let parts = try await records.read()
            guard parts[.refusal] == nil else { throw JoiningFailure.refused }
            return parts[.opening]
        }
    }

    private func decoded(
        _ bytes: [UInt8], of commitment: Joining.Commitment
    ) throws(SynchronizationFailure) -> Joining.Opening {
        do {
            return try Joining.Opening(decoding: bytes)
        } catch {
            desk.giveUp(commitment)
            throw error
        }
    }

    // MARK: The decision

    /// Checks, after the user has confirmed the digits, that the joiner has neither refused nor
    /// given up. A joiner that gives up deletes its records.
    ///
    /// - Throws: ``JoiningFailure/refused`` if the joiner has refused or given up. The machine must
    ///   not be added then.
    package func confirm(_ candidate: Candidate) async throws {
        let records = AttemptRecords(store, keys, candidate.attempt)
        let parts = try await records.read()
        guard parts[.refusal] == nil, parts[.opening] == candidate.opening else {
            desk.refuse()
            try await records.delete()
            throw JoiningFailure.refused
        }
    }

    /// Sends a refusal, because the digits differ or the user has refused.
    package func refuse(_ candidate: Candidate) async throws {
        desk.refuse()
        try await AttemptRecords(store, keys, candidate.attempt)
            .create(.refusal, Joining.refusal)
    }

    /// Deletes the records of an attempt whose machine was added.
    package func finish(_ candidate: Candidate) async throws {
        try await AttemptRecords(store, keys, candidate.attempt).delete()
    }
}
