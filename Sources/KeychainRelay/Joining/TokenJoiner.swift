// TokenJoiner: what a machine does to join a circle with a token. No person has to approve it.
// Documentation/Synchronization.md, "Join tokens".
//   (1) The machine accepts no membership log that doesn't contain the head in the token.
//   (2) If the record with the token's identifier isn't a valid request with this token, it is
//       replaced, so that it doesn't keep the machine out.

import KeychainCore
import KeychainCrypto
package import KeychainSynchronization

package struct TokenJoiner: Sendable {
    private let token: JoinToken
    private let machine: MachineDescription
    private let store: any RecordStore
    private let directory: CircleDirectory
    private let key: String
    private let timing: JoiningTiming

    package init(
        _ token: JoinToken, _ machine: MachineDescription, store: any RecordStore,
        timing: JoiningTiming = JoiningTiming()
    ) {
        self.token = token
        self.machine = machine
        self.store = store
        self.timing = timing
        directory = CircleDirectory(store)
        key = RecordKeys(circle: token.grant.circle.description)
            .tokenRequest(Hexadecimal.text(token.grant.id.bytes))
    }

    /// Asks to be added to the circle, and waits until a member has added this machine.
    ///
    /// - Returns: The membership log, which includes this machine.
    /// - Throws: ``JoiningFailure/tokenUsed`` if the token was used and this machine isn't a
    ///   member, or if another machine has sent a request with the token;
    ///   ``JoiningFailure/timedOut(_:)`` if no member has added this machine in time. After a
    ///   timeout, the request stays on the server, and the call can be repeated.
    package func join() async throws -> CircleLog {
        let (directory, token, machine) = (directory, token, machine)
        let circle = token.grant.circle
        let known = try await directory.log(of: circle, continuing: token.grant.head)
        if known.includes(machine) {
            try await withdraw()
            return known
        }
        try await ask(known.circle)
        do {
            let log = try await timing.wait(for: .addition, within: timing.limit) {
                () async throws -> CircleLog? in
                let log = try await directory.log(of: circle, continuing: known.circle.head)
                if log.includes(machine) { return log }
                guard !log.circle.hasUsed(token.grant.id) else { throw JoiningFailure.tokenUsed }
                return nil
            }
            try await withdraw()
            return log
        } catch JoiningFailure.tokenUsed {
            try await withdraw()
            throw JoiningFailure.tokenUsed
        }
    }

    private func withdraw() async throws {
        // All tokens' identifiers have the same length, so the range contains no other key.
        try await store.delete(from: key, to: key + "0")
    }

    /// Puts the request on the server, unless the server has a valid one from this machine.
    ///
    /// - Throws: ``JoiningFailure/tokenUsed`` if the server has a valid one from another machine.
    private func ask(_ circle: Circle) async throws {
        let request = try token.request(for: machine)
        guard case .exists(let present) = try await store.create(key, request.bytes) else { return }
        // Signatures are randomized, so the request of an earlier call has other bytes but the same
        // meaning.
        guard let other = try? JoinToken.Request(decoding: present),
            other.grant == token.grant, (try? other.verify(in: circle, now: .min)) != nil
        else { return try await store.put(key, request.bytes) }
        guard other.machine == machine else { throw JoiningFailure.tokenUsed }
    }
}
