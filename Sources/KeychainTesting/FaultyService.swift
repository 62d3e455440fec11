// FaultyService: the engine of a test keychain, and the faults in front of it and within.

#if !canImport(Darwin)

import Foundation
import KeychainAuthentication
import KeychainEngine
import KeychainModel
import KeychainStore
import Synchronization

struct FaultyService: AuthenticationHost {
    let keychain: TestKeychain

    var authenticationEnvironment: AuthenticationEnvironment { keychain.authenticationEnvironment }

    func add(_ item: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> Item {
        try write(.add) { () throws(KeychainFailure) in
            try keychain.engine.add(item, as: caller)
        }
    }

    func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        if let failure = failure(of: .search, where: { $0 == .entry }) { throw failure }
        return try keychain.engine.find(query, retrieval, as: caller)
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try write(.update) { () throws(KeychainFailure) in
            try keychain.engine.update(query, changes, as: caller)
        }
    }

    /// An addition, and from where it finds its item there on an update: each with its own faults.
    func put(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        as caller: AccessGroups
    ) throws(KeychainFailure) {
        try write(.add) { () throws(KeychainFailure) in
            try keychain.engine.put(item, orChange: query, changes, as: caller)
        }
    }

    func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try write(.delete) { () throws(KeychainFailure) in
            try keychain.engine.delete(query, tombstones: tombstones, as: caller)
        }
    }

    func addAll(
        _ items: [NewItem], as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        try write(.add) { () throws(KeychainFailure) in
            try keychain.engine.addAll(items, as: caller)
        }
    }

    func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try write(.update) { () throws(KeychainFailure) in
            try keychain.engine.updateIdentities(query, changes, as: caller)
        }
    }

    func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try write(.delete) { () throws(KeychainFailure) in
            try keychain.engine.deleteIdentities(query, tombstones: tombstones, as: caller)
        }
    }

    // MARK: Keys in hardware

    func hasSecureEnclave() throws(KeychainFailure) -> Bool { keychain.hasSecureEnclave }

    func makeSecureEnclaveKey(
        _ key: NewSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecureEnclaveKey {
        try inSecureEnclave { () throws(KeychainFailure) in
            try keychain.engine.makeSecureEnclaveKey(key, as: caller)
        }
    }

    func sign(
        digest: Data, with key: Data, authorization: Authorization, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try inSecureEnclave { () throws(KeychainFailure) in
            try keychain.engine.sign(
                digest: digest, with: key, authorization: authorization, as: caller)
        }
    }

    func sharedSecret(
        of key: Data, with publicKey: Data, authorization: Authorization,
        as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try inSecureEnclave { () throws(KeychainFailure) in
            try keychain.engine.sharedSecret(
                of: key, with: publicKey, authorization: authorization, as: caller)
        }
    }

    private func inSecureEnclave<Answer>(
        _ body: () throws(KeychainFailure) -> Answer
    ) throws(KeychainFailure) -> Answer {
        if let failure = failure(of: .secureEnclave, where: { $0 == .entry }) { throw failure }
        guard keychain.hasSecureEnclave else { throw .secureEnclaveUnavailable }
        return try body()
    }

    // MARK: The person

    func authenticate(passcode: Data) throws(KeychainFailure) -> AuthenticationGrant {
        try keychain.engine.authenticate(passcode: passcode)
    }

    func knowsPasscode() throws(KeychainFailure) -> Bool {
        try keychain.engine.knowsPasscode()
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

#endif
