// A service verifies its keychains while it serves them, and finds pages of an earlier time that an
// attacker has put back.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainRuntime
import TestPrograms
import Testing

@testable import KeychainDaemon

private let own = AccessGroups(["default"])

@Suite struct BackgroundVerificationTests {
    /// A service that never verifies when it opens a keychain, only in the background.
    private func service(
        _ folder: TemporaryFolder, boot: UInt64, log: LogLines = LogLines()
    ) throws -> TestService {
        try TestService(folder: folder, log: log) { configuration in
            configuration.engine.freshness = FreshnessOptions(
                folder: folder.path + "/run", boot: Bytes16(high: 0, low: boot), itemLimit: 0)
            configuration.limits.verificationInterval = .milliseconds(20)
        }
    }

    private func standing(_ service: TestService) throws -> VerificationState.Standing {
        try service.client().perform(ReadStatus(), as: own).verification.standing
    }

    private func database(_ folder: TemporaryFolder) -> URL {
        URL(filePath: folder.path + "/keychain/keychain.db")
    }

    private func putBack(_ page: RootPage, of before: Data, in folder: TemporaryFolder) throws {
        let handle = try FileHandle(forWritingTo: database(folder))
        try handle.seek(toOffset: UInt64(page.bytes.lowerBound))
        try handle.write(contentsOf: before[page.bytes])
        try handle.close()
    }

    /// A keychain with the items `a` and `b`, and its database file before `b` was added.
    private func keychain() throws -> (TemporaryFolder, before: Data) {
        let folder = try TemporaryFolder()
        var before = Data()
        for account in ["a", "b"] {
            before = (try? Data(contentsOf: database(folder))) ?? before
            let service = try service(folder, boot: 1)
            _ = try service.client().perform(AddItem(password(account)), as: own)
            service.stop()
        }
        return (folder, before)
    }

    private func expectFound(_ service: TestService, _ log: LogLines) throws {
        try eventually("the page is found") { try standing(service) == .failed }
        let client = service.client()
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try client.load("missing", as: own)
        }
        #expect(failure?.cause == .damage)
        #expect(try client.load("a", as: own) == "a")
        try eventually("the damage is logged") {
            log.all.contains { $0.contains("is damaged reason=") }
        }
    }

    @Test func `a service verifies its keychain when it starts`() throws {
        let (folder, before) = try keychain()
        let log = LogLines()
        let service = try service(folder, boot: 2, log: log)
        // No request is needed.
        try eventually("the keychain is verified") {
            log.all.contains { $0.contains("verified: ") }
        }
        #expect(try standing(service) == .verified)
        let again = LogLines()
        service.stop()
        // The result is remembered, so the next service doesn't verify again.
        let next = try self.service(folder, boot: 2, log: again)
        #expect(try standing(next) == .verified)
        // Once the outdated page is found, the background thread has certainly run. The log shows
        // that the thread didn't verify the unchanged keychain again.
        try putBack(.itemsKey, of: before, in: folder)
        try expectFound(next, again)
        #expect(!again.all.contains { $0.contains("verified: ") })
    }

    @Test func `a service finds an old database page that was put back while it wasn't running`()
        throws
    {
        let (folder, before) = try keychain()
        try putBack(.itemsKey, of: before, in: folder)
        let log = LogLines()
        try expectFound(try service(folder, boot: 2, log: log), log)
    }

    @Test func `a running service finds an old database page that is put back`() throws {
        let (folder, before) = try keychain()
        let log = LogLines()
        let service = try service(folder, boot: 1, log: log)
        try eventually("the keychain is verified") { try standing(service) == .verified }
        try putBack(.itemsKey, of: before, in: folder)
        try expectFound(service, log)
    }

    @Test func `a verification keeps the keychain open, and isn't counted as a connection`() throws
    {
        let folder = try TemporaryFolder()
        var options = EngineOptions.testing
        let engine = try KeychainEngine.open(
            directory: folder.path + "/keychain", options: options)
        _ = try engine.perform(AddItem(password("a", in: "default")), as: own)
        engine.close()
        options.freshness = FreshnessOptions(
            folder: folder.path + "/run", boot: Bytes16(high: 0, low: 1), itemLimit: 0)
        let keychain = ServedKeychain(directory: folder.path + "/keychain", options: options)
        defer { keychain.close() }
        _ = try keychain.engine()
        keychain.addConnection()
        _ = try #require(keychain.engineToVerify())
        #expect(keychain.statistics.connectionCount == 1)
        keychain.removeConnection()
        #expect(keychain.statistics.connectionCount == 0)
        keychain.closeIfIdle(since: .zero)
        #expect(keychain.engineAtOnce != nil)
        keychain.endVerification()
        keychain.closeIfIdle(since: .zero)
        #expect(keychain.engineAtOnce == nil)
    }
}
