// Databases opened by the program: folders, groups, locks, passcodes, and several objects for one
// folder.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import Testing

@testable import Keychain

@Suite struct DatabaseTests {
    /// A folder that is deleted after the test.
    final class Folder {
        let url = FileManager.default.temporaryDirectory
            .appending(path: "keychain-api-test-\(UUID().uuidString)")

        deinit { try? FileManager.default.removeItem(at: url) }
    }

    @Test func `a folder becomes a keychain at the first change, not at a look-up`() throws {
        let folder = Folder()
        let database = KeychainDatabase(directory: folder.url, accessGroups: ["g"])
        let keychain = Keychain(service: "s", in: database)
        #expect(try keychain.load(.token) == nil)
        #expect(try keychain.items().isEmpty)
        #expect(keychain.availability(of: .token).state == .absent)
        #expect(try database.status().itemCount == 0)
        #expect(try keychain.delete(.token) == false)
        #expect(!FileManager.default.fileExists(atPath: folder.url.path))
        try keychain.save("x", for: .token)
        #expect(FileManager.default.fileExists(atPath: folder.url.path))
        #expect(try keychain.item(.token)?.accessGroup == "g")
        let second = KeychainDatabase(directory: folder.url, accessGroups: ["g", "h"])
        #expect(try Keychain(service: "s", in: second).load(.token) == "x")
        let other = KeychainDatabase(directory: folder.url, accessGroups: ["h"])
        #expect(try Keychain(service: "s", in: other).load(.token) == nil)
        #expect(
            failure { _ = try Keychain(service: "s", accessGroup: "g", in: other).load(.token) }?
                .code == .missingEntitlement)
    }

    @Test func `operations fail if the database's folder can't be used`() throws {
        let folder = Folder()
        try Data("x".utf8).write(to: folder.url)
        let keychain = Keychain(
            service: "s",
            in: KeychainDatabase(
                directory: folder.url.appending(path: "below a file"), accessGroups: ["g"]))
        let error = try #require(failure { try keychain.save("x", for: .token) })
        #expect(!error.code.isUnexpected)
        #expect(error.failureReason?.isEmpty == false)
        let remote = try #require(URL(string: "https://example.org/keychain"))
        #expect(
            failure {
                _ = try Keychain(service: "s", in: KeychainDatabase(directory: remote)).items()
            }?.code == .param)
    }

    @Test func `two objects with the same folder see each other's changes and lose none`()
        async throws
    {
        let temporary = try TemporaryEngine()
        let second = try KeychainEngine.open(
            directory: temporary.directory.path, options: .testing)
        defer { second.close() }
        let keychains = [temporary.engine, second].map {
            Keychain(service: "s", in: Way.typed.database($0))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for keychain in keychains {
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<10 {
                            try await keychain.update(.counter) { $0 = ($0 ?? 0) + 1 }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for keychain in keychains { #expect(try await keychain.load(.counter) == 80) }
    }

    @Test func `a passcode with neither twelve characters nor five words is refused`() throws {
        let folder = Folder()
        let database = KeychainDatabase(directory: folder.url, accessGroups: ["g"])
        try Keychain(service: "s", in: database).save("x", for: .token)
        for passcode in ["", "eleven char", "one two 3 4"] {
            #expect(failure { try database.setPasscode(passcode) }?.code == .param)
        }
        #expect(try !database.status().hasPasscode)
    }

    @Test(arguments: ["twelve chars", "a b c d e"])
    func `a passcode with twelve characters or five words is accepted`(_ passcode: String) throws {
        // This keychain refuses short passcodes, as a user's keychain does, but its key derivation
        // takes almost no time.
        var options = EngineOptions.testing
        options.passcodePolicy = .floor
        let temporary = try TemporaryEngine(options: options)
        let database = Way.typed.database(.engine(temporary.engine)) {
            () throws(KeychainFailure) in
            .engine(temporary.engine)
        }
        #expect(failure { try database.setPasscode("eleven char") }?.code == .param)
        try database.setPasscode(passcode)
        #expect(try database.status().hasPasscode)
    }

    @Test func `a passcode allows locking items that are readable only while unlocked`() throws {
        let test = try TestDatabase(.typed)
        let database = test.database
        let keychain = test.keychain()
        try keychain.save("1234", for: .pin)
        #expect(try database.status().lockState == .unlocked)
        #expect(try !database.status().hasPasscode)
        #expect(failure { try database.lock() }?.code == .param)

        try database.setPasscode("öld", allowsWeak: true)
        #expect(try database.status().hasPasscode)
        #expect(failure { try database.setPasscode("again", allowsWeak: true) }?.code == .param)
        #expect(try keychain.load(.pin) == "1234")
        try database.lock()
        #expect(try database.status().lockState == .locked)
        #expect(failure { _ = try keychain.load(.pin) }?.code == .interactionNotAllowed)

        let wrong = failure { try database.unlock(passcode: "wrong") }
        #expect(wrong?.code == .authFailed)
        #expect(wrong?.operation == .administer)
        try database.unlock(passcode: Array("öld".utf8))
        #expect(try keychain.load(.pin) == "1234")

        #expect(
            failure { try database.changePasscode(from: "wrong", to: "new", allowsWeak: true) }?
                .code
                == .authFailed)
        try database.changePasscode(from: "öld", to: "new", allowsWeak: true)
        try database.lock()
        #expect(failure { try database.unlock(passcode: "öld") }?.code == .authFailed)
        try database.unlock(passcode: "new")
        #expect(try keychain.load(.pin) == "1234")
    }

    @Test func `removing the passcode deletes the items that require a passcode`() throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        let fragile = KeychainKey<String>(
            "fragile", accessibility: .whenPasscodeSetThisDeviceOnly)
        #expect(failure { try keychain.save("x", for: fragile) }?.code == .authFailed)
        try test.database.setPasscode("passcode", allowsWeak: true)
        try keychain.save("x", for: fragile)
        try keychain.save("y", for: .token)
        #expect(try keychain.item(fragile)?.accessibility == .whenPasscodeSetThisDeviceOnly)
        #expect(failure { try test.database.removePasscode("wrong") }?.code == .authFailed)
        try test.unlock()
        #expect(try keychain.load(fragile) == "x")
        #expect(try test.database.removePasscode("passcode") == 1)
        #expect(try keychain.load(fragile) == nil)
        #expect(try keychain.load(.token) == "y")
        #expect(try !test.database.status().hasPasscode)
    }

    @Test func `the asynchronous functions lock and unlock too`() async throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        try test.database.setPasscode(Array("passcode".utf8), allowsWeak: true)
        try await test.database.lock()
        #expect(try await test.database.status().lockState == .locked)
        await #expect(throws: KeychainError.self) { try await keychain.load(.pin) }
        try await test.database.unlock(passcode: "passcode")
        #expect(try await keychain.load(.pin) == "1234")
        try await test.database.lock()
        try await test.database.unlock(passcode: Array("passcode".utf8))
        #expect(try await keychain.load(.pin) == "1234")
        #expect(try await test.database.check().isSound)
    }

    @Test func `status and check count the items`() throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        for number in 0..<3 { try keychain.save(number, for: KeychainKey("account \(number)")) }
        try keychain.save("1234", for: .pin)
        let status = try test.database.status()
        #expect(status.itemCount == 4)
        #expect(status.setAsideCount == 0)
        #expect(status.byteCount > 0)
        #expect(status.directory.lastPathComponent.hasPrefix("keychain-api-test-"))
        try test.lock()
        var last = (0, 0)
        let report = try test.database.check { last = ($0, $1) }
        #expect(last == (4, 4))
        #expect(report.itemCount == 4)
        #expect(report.lockedCount == 1)
        #expect(report.damagedItems.isEmpty)
        #expect(report.problems.isEmpty)
        #expect(report.isSound)
    }

    @Test func `the status of a database without a KeychainEngine can't be read`() {
        let database = Way.typed.database(FailingService(status: .param))
        #expect(failure { _ = try database.status() }?.code == .unimplemented)
    }
}

#endif
