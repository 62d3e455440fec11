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

    func path(_ file: StoreFolder.File) -> String { directory + "/" + file.rawValue }
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
