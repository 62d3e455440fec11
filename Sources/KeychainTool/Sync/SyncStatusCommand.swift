// SyncStatusCommand: shows the state of synchronization: the machines, the changes that wait to be
// sent, and the items that stay on this machine.
//   (1) A server that can't be reached is part of the state, not a failure.

#if Synchronization

import ArgumentParser
import KeychainCore
import KeychainSynchronization

struct SyncStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the state of synchronization.",
        discussion: """
            Shows the circle's machines, the changes that wait to be sent, the items that stay on \
            this machine although they are marked for synchronization, with the reason, and what \
            is wrong with data from the server.
            """)

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            var status = CircleStatus(.none)
            var problem: String?
            if let session = try KeychainSession(existing: options.passcode.source) {
                let keychain = SyncKeychain(session)
                defer { keychain.close() }
                status = try keychain.status()
                if [.restoring, .comparing, .current].contains(status.state) {
                    problem = Self.settle(keychain, options)
                    status = try keychain.status()
                }
            }
            try Output.print(
                json
                    ? SyncText.json(status, problem: problem).text
                    : SyncText.text(status, problem: problem, now: SyncMoment.now))
        }
    }

    /// Exchanges everything with the server.
    ///
    /// - Returns: Why this was not possible; `nil` on success.
    static func settle(_ keychain: SyncKeychain, _ options: SyncOptions) -> String? {
        do {
            try ControlFailure.ofSynchronization {
                _ = try SyncSession(keychain, options.configuration()).settle()
            }
            return nil
        } catch let failure as ControlFailure {
            return failure.message
        } catch {
            return "\(error)"
        }
    }
}

#endif
