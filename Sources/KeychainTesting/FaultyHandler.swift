// FaultyHandler: passes the requests of a test keychain to its engine, and applies the faults that
// the test has planned: before a request or, for a write, at a moment of its transaction.

#if !canImport(Darwin)

import Foundation
import KeychainAuthentication
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Synchronization

struct FaultyHandler: AuthenticationHost {
    let keychain: TestKeychain

    var authenticationEnvironment: AuthenticationEnvironment { keychain.authenticationEnvironment }

    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        guard let operation = TestKeychain.Operations(R.code) else {
            return try keychain.engine.perform(request, as: caller)
        }
        guard TestKeychain.Operations.writes.contains(operation) else {
            if let failure = failure(of: operation, where: { $0 == .entry }) { throw failure }
            return try keychain.engine.perform(request, as: caller)
        }
        return try write(operation) { () throws(KeychainFailure) in
            try keychain.engine.perform(request, as: caller)
        }
    }

    func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try keychain.engine.stream(request, as: caller, progress: progress)
    }

    /// Subscriptions have no faults. A subscriber encounters the faults when it reads the items.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        keychain.subscribers.subscribe(handler)
    }

    /// Performs a write. Faults at `.entry` are applied before it begins. If an addition becomes an
    /// update, the faults of updates at `.entry` are applied as well, when the existing item is
    /// found. All other faults are applied at a moment of the transaction.
    private func write<Answer>(
        _ operation: TestKeychain.Operations, _ body: () throws(KeychainFailure) -> Answer
    ) throws(KeychainFailure) -> Answer {
        if let failure = failure(of: operation, where: { $0 == .entry }) { throw failure }
        let progress = WriteProgress(operation)
        let probe = WriteProbe { moment in
            let (operation, count) = progress.advance(moment)
            return failure(of: operation) { planned in
                switch (moment, planned) {
                case (.began, .step(0)), (.changed, .changed), (.committed, .committed): true
                case (.foundExisting, .entry), (.foundExisting, .step(0)): true
                case (.tookStep, .step(let wanted)): wanted == count
                case (.changed, .step(let wanted)): wanted > count
                default: false
                }
            }
        }
        return try WriteProbe.$current.withValue(probe) {
            Result { () throws(KeychainFailure) in try body() }
        }.get()
    }

    /// Applies the faults of a moment, and waits for their delays.
    /// - Returns: The failure of the operation, or `nil` if the operation continues.
    private func failure(
        of operation: TestKeychain.Operations, where isNow: (FaultMoment) -> Bool
    ) -> KeychainFailure? {
        for effect in keychain.faults.take(operation, where: isNow) {
            switch effect {
            case .delay(let delay):
                Thread.sleep(forTimeInterval: delay / .seconds(1))
            case .failure(let failure):
                return failure
            }
        }
        return nil
    }

    /// The kind of the current attempt at a write, and the number of changing statements that it
    /// has executed.
    private final class WriteProgress: Sendable {
        private let first: TestKeychain.Operations
        private let present: Mutex<(operation: TestKeychain.Operations, count: Int)>

        init(_ operation: TestKeychain.Operations) {
            first = operation
            present = Mutex((operation, 0))
        }

        func advance(
            _ moment: WriteProbe.Moment
        ) -> (operation: TestKeychain.Operations, count: Int) {
            present.withLock { present in
                switch moment {
                case .began: present = (first, 0)
                case .tookStep: present.count += 1
                case .foundExisting: present = (.update, 0)
                case .changed, .committed: break
                }
                return present
            }
        }
    }
}

extension TestKeychain.Operations {
    /// - Returns: `nil` for requests that faults don't affect.
    fileprivate init?(_ code: RequestCode) {
        switch code {
        // A put is an addition until it finds that the item exists, and an update from then on.
        case .add, .addAll, .put: self = .add
        case .find, .findIdentities: self = .search
        case .update, .updateIdentities: self = .update
        case .delete, .deleteIdentities: self = .delete
        case .makeSecureEnclaveKey, .sign, .sharedSecret: self = .secureEnclave
        case .authenticate, .hasPasscode, .hasSecureEnclave, .unlock, .lock, .lockAll,
            .setPasscode, .changePasscode, .removePasscode, .unlockWith, .slots, .changeSlots,
            .rotate, .status, .statistics, .check, .findVersions, .restoreVersion, .purgeVersions,
            .setHistory, .synchronize, .acceptsGrant:
            return nil
        }
    }
}

#endif
