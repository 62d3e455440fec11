// TemporaryKeychain: a keychain in a folder that is deleted after the test.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

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

    /// Closes the keychain and opens it again, as a new process does. A keychain with a passcode is
    /// then locked.
    func reopen() throws {
        engine.close()
        engine = try KeychainEngine.open(directory: directory, options: options)
    }

    /// The blind index of a tier. The index of the guarded tier requires an unlocked keychain.
    func index(of tier: Tier = .guarded) throws -> BlindIndex {
        try engine.store.tiers.keys(of: tier).index
    }

    /// The rows that may match a query, with their secrets.
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

    /// The keys of this keychain, opened with a passcode if it has one.
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

/// The status of the `KeychainFailure` that `body` throws, or `nil` if `body` throws no error. If
/// `body` throws an error of another type, records it as an issue of the test and returns `nil`.
func status(_ body: () throws -> Void) -> Status? {
    do {
        try body()
    } catch let failure as KeychainFailure {
        return failure.status
    } catch {
        Issue.record(error)
    }
    return nil
}
