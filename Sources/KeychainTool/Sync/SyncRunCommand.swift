// SyncRunCommand: synchronizes until a signal ends it or the machine is no longer in a circle. The
// command is the relay between the keychain and the server.
//   (1) The relay holds no key of the circle: items pass through it sealed. Without a service, the
//       embedded keychain in this process holds the keys.
//   (2) Each event that differs from the one before is one line on standard error, in the format of
//       the service's log: level, message, and fields whose text is quoted.

#if Synchronization

import ArgumentParser
import KeychainCore
import KeychainRelay
import KeychainRuntime
import KeychainSynchronization
import Synchronization
import UnixSignals

struct SyncRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Synchronizes until it is ended.",
        discussion: """
            Changes on this machine and on others are exchanged at once. If the server can't be \
            reached, changes wait in the keychain. The command ends on SIGTERM and SIGINT, and \
            when the machine is no longer in a circle. With a keychain service, it needs no \
            passcode: if the keychain is locked and no passcode is given, it waits. Without a \
            service, it unlocks the keychain for itself. Each event that differs from the one \
            before is a line on standard error.
            """)

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            let sync = try SyncSession(existing: options)
            defer { sync.close() }
            let (changes, continuation) = AsyncStream.makeStream(
                of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Subscribe before a passcode is read: after that, a service can't identify this
            // process.
            let subscription = try sync.keychain.session.keychain.subscribe {
                _ = continuation.yield()
            }
            defer { subscription.end() }
            try unlock(sync.keychain)
            let (relay, log) = (sync.relay, SyncLog())
            try AsyncWork.wait { try await Self.synchronize(relay, changes, log) }
            switch log.lastState {
            case .some(.none): throw ControlFailure.noCircle
            case .some(.removed): throw ControlFailure.removedFromCircle
            default: break
            }
        }
    }

    /// Unlocks the keychain. A keychain of a service may stay locked until another program unlocks
    /// it.
    private func unlock(_ keychain: SyncKeychain) throws {
        guard try keychain.status().state == .locked else { return }
        guard case .service = keychain.session.keychain else { throw try keychain.lockedFailure }
    }

    private static func synchronize(
        _ relay: Relay, _ changes: AsyncStream<Void>, _ log: SyncLog
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        log.write("notice ready")
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await relay.run(localChanges: changes) { log.note($0) } }
            group.addTask { for await _ in signals { return } }
            _ = try await group.next()
        }
        log.write("notice ended")
    }
}

/// Writes the command's lines to standard error.
private final class SyncLog: Sendable {
    private struct State {
        var line: String?
        var demanded: Demand.State?
    }

    private let state = Mutex(State())

    /// The state in the latest ``Demand`` from the keychain, or `nil` before the first exchange.
    var lastState: Demand.State? { state.withLock { $0.demanded } }

    func write(_ line: String) { Output.complain(line) }

    /// Writes a line for an event, unless the line is the same as that for the event before.
    ///
    /// - Returns: `true`, so that the relay continues.
    func note(_ event: Relay.Event) -> Bool {
        let line: String
        switch event {
        case .settled(let demand):
            state.withLock { $0.demanded = demand.state }
            line = "info synchronized state=\(quoted("\(demand.state)"))"
        case .failed(let error):
            line = "warning not synchronized reason=\(quoted(Self.reason(error)))"
        }
        let isNew = state.withLock { state in
            defer { state.line = line }
            return state.line != line
        }
        if isNew { write(line) }
        return true
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let failure as KeychainFailure: failure.reason
        case let failure as ControlFailure: failure.message
        case let failure as any CustomStringConvertible: failure.description
        default: "\(error)"
        }
    }
}

#endif
