// SynchronizationMessage: the messages by which the relay (the process that uses the network) and
// the tool for users talk to the process that has the keychain open.
// Documentation/Synchronization.md, "Messages".
//   (1) No message holds a secret key or the unsealed value of an item: entries are sealed, signed
//       and verified in the process that has the keychain open. Recovery codes and join tokens are
//       not part of a message: they are passed beside it, as the secret of the request or answer.
//       What a relay sends is trusted no more than data from the server.

package import FoundationEssentials
package import KeychainCore

package enum SynchronizationMessage: Hashable, Sendable {
    /// Asks for the state of synchronization, for users. The answer is ``CircleStatus``.
    case status
    /// Exchanges entries with the server. The answer is ``Demand``.
    case exchange(Delivery)
    /// Founds a circle with this machine as its member. The request's secret is the recovery code,
    /// if the circle gets one. The answer is ``CircleStatus``.
    case found(name: String)
    /// Asks for the description of this machine, and makes its keys if there are none. The answer
    /// is ``MachineDescription``.
    case describe
    /// Joins a circle. `membership` is the circle's whole membership log, which includes this
    /// machine. The answer is ``CircleStatus``.
    case join(membership: [Data])
    /// Signs this machine's addition to a circle, by means of the circle's recovery code, which is
    /// the request's secret. The answer is the next entry of the membership log.
    case admit(membership: [Data])
    /// Joins a circle as ``join(membership:)`` does, unless the machine has joined already. The
    /// following exchanges read the keys granted to the recovery code, which is the request's
    /// secret. The answer is ``CircleStatus``.
    case recover(membership: [Data])
    /// Signs the addition of a machine. If `groups` is `nil`, the added machine sees all groups.
    /// The answer is ``CircleStatus``.
    case add(machine: Data, name: String, groups: [String]?)
    /// Signs the removal of another machine or of this one. The answer is ``CircleStatus``.
    case remove(Bytes16)
    /// Forgets the circle and this machine's keys without signing anything. The items stay. The
    /// answer is ``CircleStatus``.
    case forget
    /// Makes a join token, which is the answer's secret. If `groups` is `nil`, the machine that
    /// joins with the token sees all groups. `expires` is in milliseconds since 1970-01-01 UTC.
    case makeToken(groups: [String]?, expires: Int64)
    /// Asks for the head of the membership log that this machine has verified and stored. The
    /// answer is ``MembershipHead``.
    case membershipHead
}

/// What the relay read from the server and wrote to the server. Everything in it may be wrong.
package struct Delivery: Hashable, Sendable {
    /// The entries of the membership log, from the demanded index on.
    package var membership: [Data] = []
    /// Entries of logs, each log in order.
    package var entries: [Data] = []
    /// Logs of which the server doesn't have the entries before an index.
    package var gaps: [LogPosition] = []
    /// Positions that were demanded and at which the server has nothing.
    package var ends: [LogPosition] = []
    /// `true` if the server has no entry of the membership log at the demanded index. Also `true`
    /// if the relay has already delivered that entry in the same round of exchanges, and it was not
    /// accepted.
    package var isMembershipEnd = false
    /// The heads of machines' logs, each signed by its machine: see ``SignedHead``.
    package var heads: [Data] = []
    /// Requests with join tokens.
    package var tokenRequests: [Data] = []
    /// The index of the entry that was to be stored in this machine's log, if the server has stored
    /// that entry. 0 if the server has not stored it, or if no entry was to be stored.
    package var storedIndex: UInt64 = 0
    /// The number of milliseconds without a sign of life after which a machine is suspended. 0 if
    /// no machine is to be suspended, or if `heads` lacks some of the signed heads on the server.
    package var absenceLimit: Int64 = 0

    package init() {}
}

/// A place in a machine's log.
package struct LogPosition: Hashable, Sendable {
    package let machine: Bytes16
    /// From 1.
    package let index: UInt64

    package init(_ machine: MachineID, _ index: UInt64) {
        self.machine = machine.bytes
        self.index = index
    }
}

/// What the relay is to read and write.
package struct Demand: Hashable, Sendable {
    package enum State: Hashable, Sendable, CodedByPosition {
        /// There is no circle.
        case none
        /// The keychain is locked. Nothing can be exchanged until it is unlocked.
        case locked
        /// This machine's own log is being read, or the server lacks entries of it.
        case restoring
        /// The membership log and the other logs are being read.
        case comparing
        /// This machine has read what the server shows of the other logs, and sends its own
        /// changes.
        case current
        /// The machine no longer belongs to the circle.
        case removed
    }

    package var state: State
    /// The circle's identifier. If the state is `none`, `locked` or `removed`, it is empty and the
    /// fields below have no meaning.
    package var circle = Data()
    package var machine = Bytes16(high: 0, low: 0)
    /// The next entry of the membership log to read.
    package var membershipIndex: UInt64 = 1
    /// The next entries of logs to read. In the state `current`, also the last entry of this
    /// machine's own log: the relay only checks that the server still has it.
    package var logs: [LogPosition] = []
    /// This machine's entry to store, at `entryIndex` of its log.
    package var entry: Data?
    package var entryIndex: UInt64 = 0
    /// The index of the first entry of this machine's log that is needed. The ones before it can be
    /// deleted.
    package var firstNeeded: UInt64 = 1
    /// The entry of the membership log to store, at `changeIndex`.
    package var change: Data?
    package var changeIndex: UInt64 = 0
    /// This machine's signed head to store.
    package var head: Data?
    /// Removed machines whose logs can be deleted from the server. These logs are retired: other
    /// logs contain copies of what still counts in them. Every present machine has acknowledged the
    /// copies.
    package var retired: [Bytes16] = []

    package init(_ state: State) { self.state = state }
}

/// The head of a membership log.
package struct MembershipHead: Hashable, Sendable {
    package let head: LogHead

    package init(_ head: LogHead) { self.head = head }
}

/// The state of synchronization, for users.
package struct CircleStatus: Hashable, Sendable {
    package struct Machine: Hashable, Sendable {
        package var id: Bytes16
        /// Empty if this machine doesn't have the circle key yet and so can't open the name, or if
        /// the addition contains no name because the machine added itself with the recovery code.
        package var name: String
        package var isThisOne: Bool
        package var seesAllGroups: Bool
        /// When the latest signed head was made, in milliseconds since 1970-01-01 UTC. 0: none was
        /// seen.
        package var seen: Int64
        /// Whether the machine was suspended because it was away, and has not yet appended an entry
        /// that shows that it knows of the suspension. Always `false` for this machine.
        package var isSuspended: Bool
        /// The number of entries of the machine's log that are known to exist and that the server
        /// has not shown.
        package var withheldCount: UInt64

        package init(
            id: Bytes16, name: String, isThisOne: Bool, seesAllGroups: Bool, seen: Int64,
            isSuspended: Bool, withheldCount: UInt64
        ) {
            self.id = id
            self.name = name
            self.isThisOne = isThisOne
            self.seesAllGroups = seesAllGroups
            self.seen = seen
            self.isSuspended = isSuspended
            self.withheldCount = withheldCount
        }
    }

    package var state: Demand.State
    package var circle = Data()
    package var machines: [Machine] = []
    package var hasRecoveryCode = false
    /// Whether a change of the membership was signed and isn't in the membership log yet.
    package var isChangeWaiting = false
    /// Whether the server no longer shows some entries of this machine's own log that it once had.
    package var isOwnLogMissing = false
    /// The number of items whose changes are not on the server yet.
    package var waitingCount = 0
    /// The oldest modification date of the items that ``waitingCount`` counts, in seconds since
    /// 2001-01-01. 0 if there are none.
    package var waitingSince: Double = 0
    /// How many synchronizable items stay on this machine, for each reason.
    package var staying: [StayingItems] = []
    /// What is wrong with data from the server or with this machine's own log. At most 100 texts.
    package var notices: [String] = []

    package init(_ state: Demand.State) { self.state = state }
}

/// Synchronizable items that stay on their machine for one reason.
package struct StayingItems: Hashable, Sendable {
    package var reason: SynchronizedItem.ReasonToStay
    package var count: Int

    package init(reason: SynchronizedItem.ReasonToStay, count: Int) {
        self.reason = reason
        self.count = count
    }
}
