// JoiningRecords: the records of one machine's attempt to join, how long its steps may take, and
// why it can fail.
// Documentation/Synchronization.md, "Records of joining".
//   (1) An attempt's name is the beginning of its commitment's digest or, with pasted codes, of a
//       digest of the joiner's keys. So two joiners have different records.
//   (2) The contents of the records, as the server returns them, are checked by `Joiner` or
//       `JoinDesk`, or against a pasted code. Only a refusal isn't checked: it only ends the
//       attempt. The records themselves prove nothing.

import KeychainCrypto
import KeychainSynchronization

/// The name of an attempt: 16 hexadecimal digits.
struct JoinAttempt: Hashable, Sendable {
    let name: String

    /// The attempt that begins with a commitment.
    init(_ commitment: Joining.Commitment) {
        name = Hexadecimal.text(commitment.digest.bytes.prefix(8))
    }

    /// The attempt whose machine is identified by a pasted code.
    init(_ machine: MachineDescription) {
        name = Hexadecimal.text(Fingerprint.sha256(of: machine.bytes).prefix(8))
    }
}

extension RecordKeys {
    /// The records of an attempt. The key of each record ends with the raw value.
    enum JoiningPart: String, Sendable {
        case request = "1"
        case challenge = "2"
        case opening = "3"
        /// The description of a machine that is identified by a pasted code.
        case description = "d"
        case refusal = "x"
    }

    func attempt(_ attempt: JoinAttempt) -> String { joining + attempt.name + "/" }

    /// The attempt's name and the part, from the key of a record.
    func joiningPart(ofKey key: String) -> (attempt: String, part: JoiningPart)? {
        guard key.hasPrefix(joining) else { return nil }
        let names = key.dropFirst(joining.count).split(
            separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, let part = JoiningPart(rawValue: String(names[1])) else {
            return nil
        }
        return (String(names[0]), part)
    }
}

/// The records of one attempt.
struct AttemptRecords: Sendable {
    private let store: any RecordStore
    private let keys: RecordKeys
    private let prefix: String

    init(_ store: any RecordStore, _ keys: RecordKeys, _ attempt: JoinAttempt) {
        self.store = store
        self.keys = keys
        prefix = keys.attempt(attempt)
    }

    func read() async throws -> [RecordKeys.JoiningPart: [UInt8]] {
        var parts: [RecordKeys.JoiningPart: [UInt8]] = [:]
        for record in try await store.records(prefix, after: nil, limit: 16) {
            guard let (_, part) = keys.joiningPart(ofKey: record.key) else { continue }
            parts[part] = record.value
        }
        return parts
    }

    /// Creates a record.
    ///
    /// - Throws: ``JoiningFailure/occupied`` if a record with other bytes is in its place.
    func create(_ part: RecordKeys.JoiningPart, _ bytes: [UInt8]) async throws {
        switch try await store.create(prefix + part.rawValue, bytes) {
        case .created: return
        case .exists(let present):
            guard present == bytes else { throw JoiningFailure.occupied }
        }
    }

    func delete() async throws {
        // "0" is the character after the slash.
        try await store.delete(from: prefix, to: String(prefix.dropLast()) + "0")
    }
}

// MARK: - Waiting

/// How long the steps of joining may take, and how often the server is asked meanwhile.
package struct JoiningTiming: Sendable {
    package var interval = Duration.milliseconds(500)
    /// The time for a step that needs a person or `sync run` on the other machine.
    package var limit = Duration.seconds(600)
    /// The time for a step that the other machine takes by itself.
    package var stepLimit = Duration.seconds(30)
    /// Waits for a time. Tests replace it.
    package var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    package init() {}

    /// Calls `look` at intervals until it returns a value.
    ///
    /// - Throws: ``JoiningFailure/timedOut(_:)`` if there is no value when the number of calls has
    ///   reached the limit divided by the interval, rounded up; `CancellationError`; and what
    ///   `look` throws.
    func wait<Value: Sendable>(
        for awaited: JoiningFailure.Awaited, within limit: Duration,
        _ look: @Sendable () async throws -> Value?
    ) async throws -> Value {
        // The calls are counted, so that a test needs no clock.
        var count = Int((limit / max(interval, .milliseconds(1))).rounded(.up))
        while true {
            try Task.checkCancellation()
            if let value = try await look() { return value }
            count -= 1
            guard count > 0 else { throw JoiningFailure.timedOut(awaited) }
            try await pause(interval)
        }
    }
}

/// The reason why joining failed. Rejected data is reported as ``SynchronizationFailure`` instead.
package enum JoiningFailure: Error, Hashable, Sendable {
    package enum Awaited: Hashable, Sendable {
        /// A member that answers the request.
        case member
        /// A machine that joins.
        case joiner
        /// The entry of the membership log that adds the machine.
        case addition
    }

    case timedOut(Awaited)
    /// The other side refused or gave up.
    case refused
    /// The server has a record with other content under the key of this attempt's record.
    case occupied
    /// The server has no such circle.
    case noCircle
    case tooManyCircles
    /// On a machine that joins: the pasted code is not that of the circle. On a member: it is not
    /// that of a machine that waits.
    case unknownCode
    /// The join token was used, or another machine has asked to be added with it.
    case tokenUsed
    /// Other entries of the membership log came before this machine's addition, again and again.
    case outrun
}

extension JoiningFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .timedOut(.member):
            "No machine of the circle answered in time. Run `keychainctl sync approve` on one of "
                + "them, and try again."
        case .timedOut(.joiner):
            "No machine has asked to join. Run `keychainctl sync join` on the other machine, and "
                + "try again."
        case .timedOut(.addition):
            "No machine of the circle added this one in time. Run the same command again."
        case .refused: "The other side refused or gave up. Start again on both machines."
        case .occupied: "Another request to join has the same name. Try again."
        case .noCircle:
            "The server doesn't have this circle. Check the server and the prefix in the "
                + "configuration."
        case .tooManyCircles:
            "The server lists too many circles. Specify one with --circle, by more digits of its "
                + "identifier."
        case .unknownCode:
            "This code is not the one to paste here. A machine that joins needs the circle's code, "
                + "and a member needs that of a machine that waits to join. Copy it from the other "
                + "machine again."
        case .tokenUsed:
            "Another machine has joined with the join token, or asks to. A token can be used only "
                + "once. If that was not intended, remove that machine with `keychainctl sync "
                + "remove`."
        case .outrun:
            "Other changes to the list of members came first, again and again. Run the same "
                + "command again."
        }
    }
}
