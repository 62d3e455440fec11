// FaultyHandler: the engine of a test keychain, and the faults in front of it and within.

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

    /// Without faults: what follows changes meets them when it looks at the items.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        keychain.subscribers.subscribe(handler)
    }

    /// Carries out a write that meets its faults from within the transaction.
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

    /// Sits out the delays of a moment.
    /// - Returns: What the operation fails with; nil: it goes on.
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

    /// What the present attempt at a write is, and how many changing statements it has run.
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
    /// - Returns: nil where a request is never disturbed.
    fileprivate init?(_ code: RequestCode) {
        switch code {
        // A put is an addition, and from where it finds its item there an update.
        case .add, .addAll, .put: self = .add
        case .find, .findIdentities: self = .search
        case .update, .updateIdentities: self = .update
        case .delete, .deleteIdentities: self = .delete
        case .makeSecureEnclaveKey, .sign, .sharedSecret: self = .secureEnclave
        case .authenticate, .hasPasscode, .hasSecureEnclave, .unlock, .lock, .lockAll,
            .setPasscode, .changePasscode, .removePasscode, .unlockWith, .slots, .changeSlots,
            .rotate, .status, .statistics, .check, .findVersions, .restoreVersion, .purgeVersions,
            .setHistory:
            return nil
        }
    }
}

#endif
