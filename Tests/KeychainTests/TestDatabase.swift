// TestDatabase: a keychain for one test, in a temporary folder or in memory, reached directly or
// through the SecItem functions. On Apple's platforms another file replaces the part of this file
// that is only for Linux.

import Foundation
import Testing

@testable import Keychain

#if !canImport(Darwin)

import KeychainCore
import KeychainEngine
import KeychainRuntime
import KeychainSecItem
import KeychainTesting

/// The ways from the API to a keychain on disk or in memory: `typed` sends requests to the engine
/// directly, `secItem` sends them through the SecItem functions. Tests of the API's behavior run
/// with every way.
enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case typed
    case secItem
    case typedInMemory
    case secItemInMemory

    var isInMemory: Bool { self == .typedInMemory || self == .secItemInMemory }

    var testDescription: String { rawValue }

    /// A database that sends requests to `handler`. The database can't be administered.
    func database(_ handler: any RequestHandler) -> KeychainDatabase {
        database(.substitute(handler))
    }

    /// A database that sends requests to the handler of a keychain.
    func database(
        _ handler: KeychainHandler,
        administration: (@Sendable () throws(KeychainFailure) -> KeychainHandler)? = nil
    ) -> KeychainDatabase {
        let caller = AccessGroups(TestDatabase.groups)
        var connection = ProcessConnection(handler: handler, caller: caller)
        if self == .secItem || self == .secItemInMemory {
            let direct = connection
            connection = ProcessConnection(
                handler: .substitute(SecItemHandler { direct }), caller: caller)
        }
        return KeychainDatabase(administration: administration) { [connection] in connection }
    }
}

/// An engine in a temporary folder, which is deleted when this object is released.
final class TemporaryEngine: Sendable {
    let directory: URL
    let engine: KeychainEngine

    init(options: EngineOptions = .testing) throws {
        directory = FileManager.default.temporaryDirectory
            .appending(path: "keychain-api-test-\(UUID().uuidString)")
        engine = try KeychainEngine.open(directory: directory.path, options: options)
    }

    deinit {
        engine.close()
        try? FileManager.default.removeItem(at: directory)
    }
}

struct TestDatabase {
    static let groups = ["group.main", "group.shared"]

    let database: KeychainDatabase

    init(_ way: Way) throws {
        if way.isInMemory {
            let test = TestKeychain()
            test.accessGroups = Self.groups
            database = way == .typedInMemory ? test.database : test.secItemDatabase
            return
        }
        let temporary = try TemporaryEngine()
        database = way.database(.engine(temporary.engine)) { () throws(KeychainFailure) in
            .engine(temporary.engine)
        }
    }

    /// Locks the keychain, after setting a passcode if the keychain has none. Items that are
    /// readable only while the keychain is unlocked can then no longer be read.
    func lock() throws {
        if try !database.status().hasPasscode {
            try database.setPasscode("passcode", allowsWeak: true)
        }
        try database.lock()
    }

    func unlock() throws {
        try database.unlock(passcode: "passcode")
    }
}

#endif

extension TestDatabase {
    func keychain(
        _ service: String = "com.example.app", group: String? = nil,
        accessibility: Keychain.Accessibility? = nil, synchronizable: Bool = false
    ) -> Keychain {
        Keychain(
            service: service, accessGroup: group, accessibility: accessibility,
            synchronizable: synchronizable, in: database)
    }
}

/// The `KeychainError` that an operation throws, or nil if the operation throws no such error.
func failure(_ body: () throws -> Void) -> KeychainError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeychainError
    }
}

struct DeviceState: Codable, Hashable, Sendable {
    enum Level: String, Codable { case enclave = "secure_enclave", unverified }
    var deviceID: String
    var level: Level
    var registeredAt: Date?
}

struct PairingCode: KeychainValue, Hashable {
    struct BadLength: Error {}
    var digits: [UInt8]

    init(digits: [UInt8]) { self.digits = digits }

    init(keychainData: Data) throws {
        guard keychainData.count == 6 else { throw BadLength() }
        digits = Array(keychainData)
    }

    var keychainData: Data {
        get throws {
            guard digits.count == 6 else { throw BadLength() }
            return Data(digits)
        }
    }
}

extension KeychainKey where Value == String {
    static var token: Self { Self("token") }
    static var pin: Self { Self("pin", label: "PIN", accessibility: .whenUnlocked) }
}

extension KeychainKey where Value == Data {
    static var blob: Self { Self("blob") }
}

extension KeychainKey where Value == DeviceState {
    static var deviceState: Self { Self("device.state") }
}

extension KeychainKey where Value == Int {
    static var counter: Self { Self("counter") }
}
