// DeferredKeychain: the keychain of a folder that holds none yet.
//   (1) Looking makes nothing: the answers are those of an empty keychain, and the folder stays as
//       it is, also where it is missing. The first change makes the keychain.
//   (2) Each call looks for the keychain anew, since another process may make it. From then on all
//       go to it, subscriptions included.

package import FoundationEssentials
package import KeychainCrypto
package import KeychainEngine
package import KeychainModel
import KeychainTPM
import Synchronization

package final class DeferredKeychain: KeychainAdministration {
    private let directory: String
    /// What answers as long as there is no keychain. nil: no request has come yet.
    private let empty = Mutex<KeychainEngine?>(nil)
    private let followers = Mutex<[Follower]>([])

    private struct Follower: Sendable {
        weak var subscription: DeferredSubscription?
    }

    init(directory: String) {
        self.directory = directory
    }

    /// The keychain to look into.
    private func looking() throws(KeychainFailure) -> KeychainEngine {
        if let engine = try EmbeddedKeychain.existingEngine(in: directory) { return engine }
        return try empty.withLock { empty throws(KeychainFailure) in
            if let engine = empty { return engine }
            let engine = try KeychainEngine.open(
                try MemoryPlace(), options: EngineOptions(hardware: PlatformHardware.current))
            empty = engine
            return engine
        }
    }

    /// The keychain to change. Followers of changes are told by it from now on.
    private func changing() throws(KeychainFailure) -> KeychainEngine {
        let engine = try EmbeddedKeychain.engine(in: directory)
        let waiting = followers.withLock { followers in
            defer { followers = [] }
            return followers
        }
        for follower in waiting { follower.subscription?.look() }
        return engine
    }

    /// Closes the keychain, if there is one.
    package func close() {
        if let engine = try? EmbeddedKeychain.existingEngine(in: directory) { engine.close() }
    }

    // MARK: Items

    package func add(_ item: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> Item {
        try changing().add(item, as: caller)
    }

    package func addAll(
        _ items: [NewItem], as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        try changing().addAll(items, as: caller)
    }

    package func put(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        as caller: AccessGroups
    ) throws(KeychainFailure) {
        try changing().put(item, orChange: query, changes, as: caller)
    }

    package func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        try looking().find(query, retrieval, as: caller)
    }

    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try looking().update(query, changes, as: caller)
    }

    package func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try looking().delete(query, tombstones: tombstones, as: caller)
    }

    package func findIdentities(
        _ query: IdentityQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        try looking().findIdentities(query, retrieval, as: caller)
    }

    package func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try looking().updateIdentities(query, changes, as: caller)
    }

    package func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try looking().deleteIdentities(query, tombstones: tombstones, as: caller)
    }

    // MARK: The passcode

    package func authenticate(passcode: Data) throws(KeychainFailure) -> AuthenticationGrant {
        try looking().authenticate(passcode: passcode)
    }

    package func knowsPasscode() throws(KeychainFailure) -> Bool {
        try looking().knowsPasscode()
    }

    package func unlock(passcode: SecretBytes) throws(KeychainFailure) {
        try looking().unlock(passcode: passcode)
    }

    package func lock() throws(KeychainFailure) { try looking().lock() }

    package func lockAll() throws(KeychainFailure) { try looking().lockAll() }

    package func setPasscode(_ passcode: SecretBytes) throws(KeychainFailure) {
        try changing().setPasscode(passcode)
    }

    package func changePasscode(
        from old: SecretBytes, to new: SecretBytes
    ) throws(KeychainFailure) {
        try looking().changePasscode(from: old, to: new)
    }

    package func removePasscode(_ passcode: SecretBytes) throws(KeychainFailure) -> Int {
        try looking().removePasscode(passcode)
    }

    // MARK: Keys in hardware

    package func hasSecureEnclave() throws(KeychainFailure) -> Bool {
        try looking().hasSecureEnclave()
    }

    /// The key is bound to its keychain, so there has to be one.
    package func makeSecureEnclaveKey(
        _ key: NewSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecureEnclaveKey {
        try changing().makeSecureEnclaveKey(key, as: caller)
    }

    package func sign(
        digest: Data, with key: Data, authorization: Authorization, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try looking().sign(digest: digest, with: key, authorization: authorization, as: caller)
    }

    package func sharedSecret(
        of key: Data, with publicKey: Data, authorization: Authorization,
        as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try looking().sharedSecret(
            of: key, with: publicKey, authorization: authorization, as: caller)
    }

    // MARK: The whole

    package func status() throws(KeychainFailure) -> KeychainStatus {
        guard let engine = try EmbeddedKeychain.existingEngine(in: directory) else {
            return .absent(in: directory)
        }
        return try engine.status()
    }

    package func check(
        progress: (Int, Int) -> Void
    ) throws(KeychainFailure) -> CheckReport {
        try looking().check(progress: progress)
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        if let engine = try EmbeddedKeychain.existingEngine(in: directory) {
            return try engine.subscribe(handler)
        }
        let subscription = DeferredSubscription(directory, handler)
        followers.withLock { followers in
            followers.removeAll { $0.subscription == nil }
            followers.append(Follower(subscription: subscription))
        }
        return subscription
    }
}
