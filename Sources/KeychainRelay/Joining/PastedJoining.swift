// PastedJoining: joining with pasted codes instead of the six digits, which the users of both
// machines have to compare while both machines show them. Documentation/Synchronization.md,
// "Joining" and "Records of joining".
//   (1) The server stores the joiner's keys, and proves nothing about them: the member accepts only
//       keys whose code was pasted.
//   (2) The joiner accepts only a membership log that had, at some time, the head that the pasted
//       code stands for.

package import KeychainSynchronization

/// The machine that joins.
package struct PastedJoiner: Sendable {
    private let machine: MachineDescription
    private let circle: CircleID
    private let directory: CircleDirectory
    private let records: AttemptRecords
    private let timing: JoiningTiming

    package init(
        _ machine: MachineDescription, circle: CircleID, store: any RecordStore,
        timing: JoiningTiming = JoiningTiming()
    ) {
        self.machine = machine
        self.circle = circle
        self.timing = timing
        directory = CircleDirectory(store)
        records = AttemptRecords(
            store, RecordKeys(circle: circle.description), JoinAttempt(machine))
    }

    /// The code to paste on the member.
    package var code: PastedCode { PastedCode(joiner: machine) }

    /// Stores this machine's keys on the server, where the member looks for the keys that the
    /// pasted code stands for.
    package func offer() async throws { try await records.create(.description, machine.bytes) }

    /// Waits until a member has added this machine.
    ///
    /// - Parameter code: The code that the member shows.
    /// - Returns: The membership log, which includes this machine.
    /// - Throws: ``JoiningFailure/unknownCode`` unless the code stands for this circle and a head
    ///   that the server's membership log has or had.
    package func join(_ code: PastedCode) async throws -> CircleLog {
        let (directory, circle, machine) = (directory, circle, machine)
        let known = try await directory.existingLog(of: circle)
        let heads = (1...known.circle.head.index).compactMap { index in
            known.circle.digest(at: index).map { LogHead(index: index, digest: $0) }
        }
        guard let head = heads.last(where: { PastedCode(circle: circle, head: $0) == code }) else {
            throw JoiningFailure.unknownCode
        }
        return try await timing.wait(for: .addition, within: timing.limit) {
            () async throws -> CircleLog? in
            let log = try await directory.log(of: circle, continuing: head)
            return log.includes(machine) ? log : nil
        }
    }

    /// Deletes this machine's keys from the server.
    package func withdraw() async throws { try await records.delete() }
}

/// The member.
package struct PastedMember: Sendable {
    private let circle: CircleID
    private let known: LogHead
    private let store: any RecordStore
    private let keys: RecordKeys

    /// - Parameters:
    ///   - circle: The member's circle.
    ///   - known: The head of the membership log in the member's keychain. A log from the server
    ///     that doesn't continue the member's log is rejected.
    ///   - store: The server.
    package init(circle: CircleID, known: LogHead, store: any RecordStore) {
        self.circle = circle
        self.known = known
        self.store = store
        keys = RecordKeys(circle: circle.description)
    }

    /// The code to paste on the machine that joins.
    package func code() async throws -> PastedCode {
        let log = try await CircleDirectory(store).log(of: circle, continuing: known)
        return PastedCode(circle: circle, head: log.circle.head)
    }

    /// The waiting machine that shows this code.
    ///
    /// - Throws: ``JoiningFailure/unknownCode`` if no machine that waits has this code.
    package func machine(_ code: PastedCode) async throws -> MachineDescription {
        for record in try await store.smallRecords(keys.joining).records {
            guard keys.joiningPart(ofKey: record.key)?.part == .description,
                let machine = MachineDescription(decoding: record.value),
                PastedCode(joiner: machine) == code
            else { continue }
            return machine
        }
        throw JoiningFailure.unknownCode
    }

    /// Deletes the keys of an added machine from the records of joining.
    package func finish(_ machine: MachineDescription) async throws {
        try await AttemptRecords(store, keys, JoinAttempt(machine)).delete()
    }
}
