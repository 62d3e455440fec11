// Session+Absence: suspends machines that are away, so that others don't wait for them.
// Documentation/Synchronization.md, "Absent machines".
//   (1) How long a machine is away is measured by this machine's clock alone, from when the latest
//       sign of life arrived here. So a machine isn't suspended because its own clock is wrong,
//       except if that clock was set back and the machine appends no entry to its log.
//   (2) Members take turns in the order of their identifiers, so that usually only one of them
//       signs a suspension. If two do, the second suspension isn't signed again.

import KeychainCore
import KeychainEngine
import KeychainSynchronization

/// The latest sign of life of a machine.
struct Sighting: Hashable, Sendable {
    /// The index of the last entry of its log that this machine has read.
    var index: UInt64
    /// The moment of its signed head, by its clock.
    var head: Int64
    /// When this machine saw it, in milliseconds since 1970-01-01 UTC.
    var seen: Int64
}

extension Session {
    /// No machine is suspended after a shorter absence, whatever the relay says. In milliseconds.
    static let shortestAbsence: Int64 = 86_400_000
    /// How much later the next member signs, or gives keys, if the ones before it don't, in
    /// milliseconds.
    static let turn: Int64 = 3_600_000

    /// Records when machines were last heard of.
    mutating func noteSightings() {
        let now = engine.milliseconds
        let heads = replica.readHeads
        var sightings: [MachineID: Sighting] = [:]
        for machine in replica.circle.roster.members where machine != replica.id {
            let (index, head) = (heads[machine]?.index ?? 0, replica.heads[machine]?.moment ?? 0)
            var sighting =
                state.sightings[machine] ?? Sighting(index: index, head: head, seen: now)
            if index > sighting.index || head > sighting.head {
                // If its clock was set back, the first head after new entries has an earlier time.
                sighting.head = index > sighting.index ? head : max(head, sighting.head)
                sighting.index = max(index, sighting.index)
                sighting.seen = now
            }
            sightings[machine] = sighting
        }
        state.sightings = sightings
    }

    /// Signs the suspension of a machine that has given no sign of life for `limit` milliseconds,
    /// or for a day if `limit` is shorter, once it is this machine's turn. If `limit` is 0, no
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
