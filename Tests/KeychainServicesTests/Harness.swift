// Harness: the keychains on which the behavior cases run, and how a test creates such a keychain.

import Foundation
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore
import KeychainSQLite
import KeychainTesting
import Testing

/// A keychain under test, and what the user or the system does to it.
protocol KeychainUnderTest: AnyObject {
    var handler: KeychainHandler { get }

    /// Locks the keychain, so that when-unlocked items can't be read.
    func lock() throws
    func unlock() throws
    /// Closes the keychain and reopens it as after a restart of the device and before the first
    /// unlock.
    func restart() throws
    func setPasscode() throws
    func removePasscode() throws
}

/// A kind of keychain.
enum Backend: CaseIterable, CustomTestStringConvertible {
    case model
    case embeddedEngine
    case testKeychain
    case service

    var testDescription: String { "\(self)" }

    /// The kinds of keychain that can have hardware for keys.
    static let withSecureEnclave: [Backend] = [.embeddedEngine, .testKeychain, .service]

    /// An empty, unlocked keychain with a passcode, and with hardware for keys if keychains of this
    /// kind can have such hardware.
    func openWithSecureEnclave() throws -> any KeychainUnderTest {
        switch self {
        case .model: ModelUnderTest()
        case .embeddedEngine: try EngineUnderTest(hardware: SimulatedSecureEnclave())
        case .testKeychain: try TestKeychainUnderTest(hasSecureEnclave: true)
        case .service: try ServiceUnderTest(hardware: SimulatedSecureEnclave())
        }
    }

    /// An empty, unlocked keychain with a passcode.
    func open() throws -> any KeychainUnderTest {
        switch self {
        case .model: ModelUnderTest()
        case .embeddedEngine: try EngineUnderTest()
        case .testKeychain: try TestKeychainUnderTest()
        case .service: try ServiceUnderTest()
        }
    }
}

/// The in-memory model, which defines the meaning of the cases without any storage.
private final class ModelUnderTest: KeychainUnderTest {
    private let keychain = ModelKeychain()

    var handler: KeychainHandler { .substitute(keychain) }

    func lock() { keychain.set(.locked) }
    func unlock() { keychain.set(.unlocked) }
    func restart() { keychain.set(.beforeFirstUnlock) }
    func setPasscode() { keychain.setPasscode(true) }
    func removePasscode() { keychain.setPasscode(false) }
}

/// The in-memory keychain of KeychainTesting, which users of this package have for their own tests.
private final class TestKeychainUnderTest: KeychainUnderTest {
    private let keychain = TestKeychain()

    init(hasSecureEnclave: Bool = false) throws {
        keychain.hasSecureEnclave = hasSecureEnclave
        try setPasscode()
    }

    var handler: KeychainHandler { keychain.connection.handler }

    func lock() throws { try keychain.lock() }
    func unlock() throws { try keychain.unlock() }
    func restart() throws { try keychain.restart() }
    func setPasscode() throws { try keychain.setPasscode("passcode") }
    func removePasscode() throws { try keychain.removePasscode() }
}

/// The engine with a keychain in a temporary folder.
final class EngineUnderTest: KeychainUnderTest {
    let directory: String
    private var engine: KeychainEngine
    private let options: EngineOptions
    private var isOpen = true
    private let passcode = SecretBytes(copying: Array("passcode".utf8))

    var handler: KeychainHandler { .engine(engine) }

    init(hardware: (any KeyHardware)? = nil) throws {
        directory = NSTemporaryDirectory() + "keychain-cases-" + UUID().uuidString
        var options = EngineOptions.testing
        options.hardware = hardware
        self.options = options
        engine = try KeychainEngine.open(directory: directory, options: options)
        try engine.setPasscode(passcode)
    }

    deinit {
        close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func lock() throws { try engine.lock() }
    func unlock() throws { try engine.unlock(passcode: passcode) }

    func close() {
        if isOpen { engine.close() }
        isOpen = false
    }

    func restart() throws {
        close()
        engine = try KeychainEngine.open(directory: directory, options: options)
        isOpen = true
    }

    func setPasscode() throws { try engine.setPasscode(passcode) }
    func removePasscode() throws { try engine.removePasscode(passcode) }

    // MARK: - Damage

    func path(_ file: StoreFolder.File) -> String {
        StoreFolder(path: directory).located.path(of: file)
    }

    /// Rewrites the rows of all local generic passwords with other content. The header is changed
    /// to match, so only the authentication tags of a row can detect the change.
    func tamper(_ change: ([SealedRow]) -> [SealedRow]) throws {
        let generation = try engine.store.header().keybagGeneration
        _ = try engine.store.write(keybagGeneration: generation) {
            transaction throws(KeychainFailure) in
            let everything = transaction.search(
                ItemQuery(itemClass: .genericPassword), visibleTo: AccessGroups(["*"]))
            let rows = try transaction.rows(everything, includesSecret: true).compactMap { found in
                if case .row(let row) = found { row } else { nil }
            }
            for (old, new) in zip(rows, change(rows)) {
                try transaction.replace(old, with: new, replacesSecret: true)
            }
        }
    }

    /// Flips a bit in the metadata and in the secret of every local generic password. A second call
    /// repairs the rows.
    func damageItem() throws {
        try tamper { rows in
            rows.map { row in
                var row = row
                row.metadata[row.metadata.startIndex + row.metadata.count / 2] ^= 1
                if let secret = row.secret { row.secret?[secret.endIndex - 1] ^= 1 }
                return row
            }
        }
    }
}
