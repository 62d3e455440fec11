// RecoveryJoiner: the side of a machine that joins with the recovery code, without another machine.
// Documentation/Synchronization.md, "Recovery code".
//   (1) The keychain signs this machine's addition, and stores nothing of the circle before the
//       server has the addition. So if another change of the circle reaches the server first, there
//       is nothing to undo: the machine signs another addition, which follows that change.

import KeychainCore
package import KeychainCrypto
package import KeychainSynchronization

package struct RecoveryJoiner: Sendable {
    private let relay: Relay
    private let circle: CircleID

    /// The maximum number of additions that one call of ``join(_:)`` signs.
    private static let attemptCount = 10

    package init(_ relay: Relay, circle: CircleID) {
        self.relay = relay
        self.circle = circle
    }

    /// Joins the circle. From then on, this machine also opens the group keys that members granted
    /// to the recovery code.
    ///
    /// If the machine is in the circle already because an earlier call was interrupted, only the
    /// rest is done.
    ///
    /// - Throws: ``JoiningFailure/outrun`` if other changes reached the server before each of the
    ///   additions. The machine hasn't joined then, and the call can be repeated.
    package func join(_ code: RecoveryCode) async throws {
        let directory = CircleDirectory(relay.store)
        let keys = RecordKeys(circle: circle.description)
        let machine = MachineDescription(decoding: try await relay.send(.describe).message)
        for attempt in 0...Self.attemptCount {
            let log = try await directory.existingLog(of: circle)
            if let machine, log.includes(machine) {
                _ = try await relay.send(.recover(membership: log.records), secret: code.bytes)
                return
            }
            guard attempt < Self.attemptCount else { break }
            let addition = try await relay.send(
                .admit(membership: log.records), secret: code.bytes
            ).message
            _ = try await relay.store.create(
                keys.entry(log.circle.head.index + 1), Array(addition))
            // If another entry was at this index already, it stays, and the next attempt reads it.
        }
        throw JoiningFailure.outrun
    }
}
