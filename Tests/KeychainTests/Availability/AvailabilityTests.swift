// Availability: each state is distinguished from the others, and no error is reported as absence.

import Foundation
import KeychainCore
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainCrypto
import KeychainEngine
#endif

@Suite struct AvailabilityTests {
    @Test(arguments: Way.allCases)
    func `an item is available, absent or locked`(way: Way) throws {
        let test = try TestDatabase(way)
        let keychain = test.keychain()
        #expect(keychain.availability(of: .pin).state == .absent)
        #expect(keychain.availability(of: .pin).isAnswer)
        try keychain.save("1234", for: .pin)
        #expect(keychain.availability(of: .pin).state == .available)
        try test.lock()
        let locked = keychain.availability(of: .pin)
        #expect(locked.state == .locked)
        #expect(locked.error?.code == .interactionNotAllowed)
        #expect(locked.error?.account == "pin")
        #expect(locked.isPassing)
        #expect(!locked.isAnswer)
        #expect(keychain.availability(of: .token).state == .absent)
        try test.unlock()
        #expect(keychain.availability(of: .pin).state == .available)
        #expect(keychain.availability(of: .account("nobody")).state == .absent)
    }

    @Test(arguments: Way.allCases)
    func `a stored value that can't be decoded is still available`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save(Data([0xFF]), for: KeychainKey("token"))
        #expect(keychain.availability(of: .token).state == .available)
    }

    #if !canImport(Darwin)
    @Test(arguments: Way.allCases)
    func `the availability of a keychain depends on its accessibility`(way: Way) throws {
        let test = try TestDatabase(way)
        let always = test.keychain()
        let unlocked = test.keychain(accessibility: .whenUnlocked)
        #expect(always.availability().state == .available)
        #expect(unlocked.availability().state == .available)
        #expect(test.database.availability().state == .available)
        try test.lock()
        #expect(always.availability().state == .available)
        #expect(unlocked.availability().state == .locked)
        #expect(unlocked.availability().error?.service == unlocked.service)
        #expect(test.database.availability().state == .available)
        try test.unlock()
        #expect(unlocked.availability().state == .available)
        #expect(test.database.availability().state == .available)
        // Checking the availability leaves no item behind.
        #expect(try test.database.status().itemCount == 0)
    }

    @Test(arguments: Way.allCases)
    func `the asynchronous functions give the same availability`(way: Way) async throws {
        let test = try TestDatabase(way)
        let keychain = test.keychain(accessibility: .whenUnlocked)
        try await keychain.save("1234", for: .pin)
        #expect(try await keychain.availability(of: .account("nobody")).state == .absent)
        #expect(try await test.database.availability().state == .available)
        try test.lock()
        #expect(try await keychain.availability(of: .pin).state == .locked)
        #expect(try await keychain.availability().state == .locked)
    }

    @Test func `in a new process a keychain with a passcode is locked`() throws {
        let temporary = try TemporaryEngine()
        try temporary.engine.setPasscode(SecretBytes(copying: Array("passcode".utf8)))
        // The database opens its own engine, as in another process.
        let database = KeychainDatabase(directory: temporary.directory, accessGroups: ["g"])
        #expect(database.availability().state == .locked)
        try database.unlock(passcode: "passcode")
        #expect(database.availability().state == .available)
    }
    #endif

    @Test(arguments: Way.allCases)
    func `a keychain in another program's access group is denied`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain(group: "group.foreign")
        for found in [keychain.availability(), keychain.availability(of: .token)] {
            #expect(found.state == .denied)
            #expect(found.error?.code == .missingEntitlement)
            #expect(!found.isPassing)
        }
    }

    /// The status and cause of a failure, the corresponding state, and whether waiting can help.
    static let failures: [(Status, KeychainFailure.Cause, Keychain.Availability.State, Bool)] = [
        (.interactionNotAllowed, .other, .locked, true),
        (.missingEntitlement, .other, .denied, false),
        (.authFailed, .other, .denied, false),
        (.userCanceled, .other, .denied, false),
        (.notAvailable, .permission, .denied, false),
        (.notAvailable, .damage, .damaged, false),
        (.decode, .damage, .damaged, false),
        (.decode, .other, .damaged, false),
        (.invalidKeychain, .other, .damaged, false),
        (.notAvailable, .contention, .busy, true),
        (.notAvailable, .other, .failed, true),
        (.notAvailable, .otherMachine, .failed, false),
        (.ioError, .other, .failed, false),
        (.diskFull, .other, .failed, false),
        (.wrongVersion, .other, .failed, false),
        (.param, .other, .failed, false),
        (Status(rawValue: -1), .other, .failed, false),
    ]

    @Test(arguments: Way.allCases, failures)
    func `every failure has a state, and no failure is reported as absence`(
        way: Way,
        row: (
            status: Status, cause: KeychainFailure.Cause, state: Keychain.Availability.State,
            passes: Bool
        )
    ) {
        let service = FailingService(status: row.status, cause: row.cause)
        let keychain = Keychain(service: "SERVICE-7", in: way.database(service))
        for found in [
            keychain.availability(), keychain.availability(of: .token),
            keychain.database.availability(),
        ] {
            #expect(found.state == row.state)
            #expect(found.isPassing == row.passes)
            #expect(!found.isAnswer)
            #expect(found.error?.code.rawValue == row.status.rawValue)
            #expect(found.description.hasPrefix(row.state.rawValue))
            #expect(!found.description.contains("SERVICE-7"))
        }
    }

    #if !canImport(Darwin)
    @Test func `damaged files are reported as damage`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "keychain-api-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try KeychainEngine.open(directory: folder.path, options: .testing).close()
        let file = folder.appending(path: "keychain.db")
        let size = try Data(contentsOf: file).count
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: size))
        try handle.close()
        let database = KeychainDatabase(directory: folder, accessGroups: ["g"])
        #expect(database.availability().state == .damaged)
        let found = Keychain(service: "s", in: database).availability(of: .token)
        #expect(found.state == .damaged)
        #expect(found.error?.cause == .damage)
    }
    #endif
}
