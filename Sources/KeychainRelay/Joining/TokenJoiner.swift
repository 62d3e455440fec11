// TokenJoiner: the side of a machine that joins with a token, without a person.
// Documentation/Synchronization.md, "Join tokens".
//   (1) The machine accepts no membership log that doesn't continue the one in the token.
//   (2) A record under the token's name that isn't a valid request with this token is replaced, so
//       that it doesn't keep the machine out.

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

    /// Asks to be added, and waits until a member has done so.
    ///
    /// - Returns: The membership log, which includes this machine.
    /// - Throws: ``JoiningFailure/tokenUsed`` if another machine has used the token or has sent a
    ///   request with it, and ``JoiningFailure/timedOut(_:)`` if no member has added this machine.
    ///   After a timeout, the request stays on the server, and the call can be repeated.
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

    /// Puts the request on the server.
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
