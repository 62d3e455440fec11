// Session+Absence: suspends machines that are away, so that others don't wait for them.
// Documentation/Synchronization.md, "Absent machines".
//   (1) How long a machine is away is measured by this machine's clock alone, from when the latest
//       sign of life arrived here. So a wrong clock of the other machine doesn't lead to its
//       suspension, unless that clock was set back and that machine appends no entry to its log.
//   (2) Members take turns in the order of their identifiers, so that usually only one of them
//       signs a suspension. If two members sign suspensions, only the first takes effect, and the
//       other member doesn't sign its suspension again.

import KeychainCore
import KeychainEngine
import KeychainSynchronization

/// The latest sign of life of another machine.
struct Sighting: Hashable, Sendable {
    /// The index of the last entry that was read of the other machine's log.
    var index: UInt64
    /// The moment of the other machine's signed head, by the other machine's clock.
    var head: Int64
    /// When the sign of life arrived here, by this machine's clock, in milliseconds since
    /// 1970-01-01 UTC.
    var seen: Int64
}

extension Session {
    /// No machine is suspended after a shorter absence, whatever the relay says. In milliseconds.
    static let shortestAbsence: Int64 = 86_400_000
    /// How much later than the member before it each member signs, or gives keys, if the members
    /// before it haven't done so. In milliseconds.
    static let turn: Int64 = 3_600_000

    /// Records the latest sign of life of each other member.
    mutating func noteSightings() {
        let now = engine.milliseconds
        let heads = replica.readHeads
        var sightings: [MachineID: Sighting] = [:]
        for machine in replica.circle.roster.members where machine != replica.id {
            let (index, head) = (heads[machine]?.index ?? 0, replica.heads[machine]?.moment ?? 0)
            var sighting =
                state.sightings[machine] ?? Sighting(index: index, head: head, seen: now)
            if index > sighting.index || head > sighting.head {
                // If the other machine's clock was set back, its first signed head after new
                // entries is earlier than the recorded one.
                sighting.head = index > sighting.index ? head : max(head, sighting.head)
                sighting.index = max(index, sighting.index)
                sighting.seen = now
            }
            sightings[machine] = sighting
        }
        state.sightings = sightings
    }

    /// Signs the suspension of one machine that has given no sign of life for at least `limit`
    /// milliseconds and at least a day, if it is this machine's turn to sign. If `limit` is 0, no
    /// machine is suspended. Call this right after all signed heads were read, since this machine
    /// may have been away itself.
    mutating func suspendAbsent(after limit: Int64) throws(KeychainFailure) {
        guard limit > 0, state.change == nil,
            replica.circle.member(replica.id)?.scope == .all
        else { return }
        let present = replica.circle.roster.members.filter { replica.ledger.isPresent($0) }
        let signers = present.filter { replica.circle.member($0)?.scope == .all }
        for machine in present where machine != replica.id {
            guard let sighting = state.sightings[machine],
                let place = signers.filter({ $0 != machine }).firstIndex(of: replica.id)
            else { continue }
            // The relay may state any limit, so nothing is added to it: the sum could overflow.
            let absence = engine.milliseconds - sighting.seen - Int64(place) * Self.turn
            guard absence >= max(limit, Self.shortestAbsence),
                let change = replica.suspension(of: machine)
            else { continue }
            try wishIfValid(change)
            return
        }
    }
}
