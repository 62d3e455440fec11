// TemporaryKeychain: a keychain in a folder of its own that goes with the test.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite

/// A keychain for one test.
final class TemporaryKeychain {
    let directory: String
    private(set) var engine: KeychainEngine
    let caller = AccessGroups(["G1", "G2"])
    private let options: EngineOptions

    init(options: EngineOptions = .testing) throws {
        directory = NSTemporaryDirectory() + "keychain-test-" + UUID().uuidString
        self.options = options
        engine = try KeychainEngine.open(directory: directory, options: options)
    }

    deinit {
        engine.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// As after the end of the process: nothing is unlocked.
    func reopen() throws {
        engine.close()
        engine = try KeychainEngine.open(directory: directory, options: options)
    }

    /// What the labels of a tier are made with. The keychain has to be unlocked, or closed since.
    func index(of tier: Tier = .guarded) throws -> BlindIndex {
        try engine.store.tiers.keys(of: tier).index
    }

    /// The rows that a query may be about, with their secrets.
    func rows(_ query: ItemQuery, limit: Int? = nil) throws -> [SealedRow] {
        var found: [SealedRow] = []
        _ = try engine.store.visit(
            query, visibleTo: caller, includesSecret: true, limit: limit
        ) { candidate, _ in
            if case .row(let row) = candidate { found.append(row) }
            return found.count < limit ?? .max
        }
        return found
    }

    /// The keys of this keychain, which has no passcode, or is opened with the one that is given.
    func keys(_ code: SecretBytes? = nil) throws -> (hierarchy: KeyHierarchy, guarded: TierKeys) {
        let folder = StoreFolder(path: directory)
        guard let device = try folder.read(.deviceKey), let keybag = try folder.read(.keybag) else {
            throw KeychainFailure(.notAvailable, "A file is missing.")
        }
        let hierarchy = try KeyHierarchy(
            Keybag.parse(keybag.plainBytes), deviceKey: DeviceKeyFile.decode(device).key)
        guard
            let guarded = try code.map({ try hierarchy.unlock(.passcode($0)).keys })
                ?? hierarchy.guardedTierWithoutPasscode()
        else { throw KeychainFailure(.notAvailable, "The keychain has a passcode.") }
        return (hierarchy, guarded)
    }

    func path(_ file: StoreFolder.File) -> String {
        StoreFolder(path: directory).located.path(of: file)
    }
}

func passcode(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }

func genericPassword(_ account: String, _ service: String = "service") -> Attributes {
    [.account: .string(account), .service: .string(service)]
}

/// The status that `body` fails with, or nil.
func status(_ body: () throws -> Void) -> Status? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeychainFailure)?.status
    }
}
