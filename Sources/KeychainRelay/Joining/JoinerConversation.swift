// JoinerConversation: joining a circle with six digits, as the joining machine does it.
// Documentation/Synchronization.md, "Records of joining".
//   (1) The machine sends its keys only after a member has answered, and opens its commitment only
//       once.
//   (2) The machine accepts a membership log only if it contains the entry that the member named as
//       the log's head in the answer.

package import KeychainSynchronization

package actor JoinerConversation {
    private let machine: MachineDescription
    private let circle: CircleID
    private let created: Int64
    private let directory: CircleDirectory
    private let records: AttemptRecords
    private let timing: JoiningTiming
    private var joiner: Joiner
    /// The head of the membership log that the digits confirm. `nil` until a member's answer is
    /// accepted.
    private var head: LogHead?

    /// A member's answer, and the membership log that it refers to.
    private struct Answer: Sendable {
        let challenge: Joining.Challenge
        let log: CircleLog
    }

    /// - Parameters:
    ///   - machine: The keys of this machine.
    ///   - circle: The circle to join.
    ///   - store: The server.
    ///   - created: The current time, in milliseconds since 1970-01-01 00:00:00 UTC.
    ///   - timing: How long the steps may take.
    package init(
        _ machine: MachineDescription, circle: CircleID, store: any RecordStore, created: Int64,
        timing: JoiningTiming = JoiningTiming()
    ) {
        let joiner = Joiner(machine, circle: circle)
        self.machine = machine
        self.circle = circle
        self.created = created
        self.timing = timing
        self.joiner = joiner
        directory = CircleDirectory(store)
        records = AttemptRecords(
            store, RecordKeys(circle: circle.description), JoinAttempt(joiner.commitment))
    }

    /// Asks to join, and exchanges the messages with the member that answers.
    ///
    /// - Returns: The digits to compare with those on the member.
    /// - Throws: ``JoiningFailure``; ``SynchronizationFailure`` if the answer or the membership log
    ///   is rejected; `CancellationError`; and the errors of the store. After any of them, call
    ///   ``withdraw()``.
    package func digits() async throws -> String {
        let (directory, records, circle) = (directory, records, circle)
        let request = Joining.Request(commitment: joiner.commitment, created: created)
        try await records.create(.request, request.bytes)
        let answer = try await timing.wait(for: .member, within: timing.limit) {
            () async throws -> Answer? in
            let parts = try await records.read()
            guard parts[.refusal] == nil else { throw JoiningFailure.refused }
            guard let bytes = parts[.challenge] else { return nil }
            let challenge = try Joining.Challenge(decoding: bytes)
            guard let log = try await directory.log(of: circle),
                log.circle.head.index >= challenge.head.index
            else { return nil }
            return Answer(challenge: challenge, log: log)
        }
        let opening = try joiner.open(answer.challenge, answer.log.circle)
        head = answer.challenge.head
        try await records.create(.opening, opening.bytes)
        return Joining.text(of: Joining.code(answer.challenge, opening))
    }

    /// Waits until a member has added this machine. Call this after the user has confirmed the
    /// digits. After any failure, this function tries to delete the records of this attempt.
    ///
    /// - Returns: The membership log, which includes this machine.
    /// - Throws: The same errors as ``digits()``.
    package func confirm() async throws -> CircleLog {
        let (directory, records, circle, machine) = (directory, records, circle, machine)
        let head = head
        do {
            return try await timing.wait(for: .addition, within: timing.limit) {
                () async throws -> CircleLog? in
                if let log = try await directory.log(of: circle), log.includes(machine) {
                    // The digits confirm the log only up to this head.
                    guard let head, log.contains(head) else {
                        throw SynchronizationFailure.fork("the membership log")
                    }
                    return log
                }
                guard try await records.read()[.refusal] == nil else {
                    throw JoiningFailure.refused
                }
                return nil
            }
        } catch {
            // The first failure is reported, even if the deletion fails too.
            try? await records.delete()
            throw error
        }
    }

    /// Tells the member that the digits differ, or that the user has refused.
    package func refuse() async throws {
        try await records.create(.refusal, Joining.refusal)
    }

    /// Deletes the records of this attempt, so that members no longer answer it.
    package func withdraw() async throws { try await records.delete() }
}
