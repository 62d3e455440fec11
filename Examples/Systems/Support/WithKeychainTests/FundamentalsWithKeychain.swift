// The storage layer of Fundamentals, written with Keychain: the last code block of the README of
// Fundamentals.

import ExampleTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

private struct KeychainManager: Sendable {
    private let keychain: Keychain

    init(service: String, in database: KeychainDatabase = .default) {
        keychain = Keychain(service: service, in: database)
    }

    func save(_ data: Data, for key: String) async throws {
        try await keychain.save(data, for: .account(key))
    }

    func load(for key: String) async throws -> Data? {
        try await keychain.load(.account(key))
    }

    func delete(key: String) async throws {
        try await keychain.delete(.account(key))
    }

    func allAccounts() async throws -> [String] {
        try await keychain.items().map(\.account).sorted()
    }
}

@Suite struct FundamentalsWithKeychain {
    @Test func `the manager's four methods work when written with Keychain`() async throws {
        try expectSnippet(inReadmeOf: "Fundamentals")
        let test = TestKeychain()
        let manager = KeychainManager(service: "org.example.fundamentals", in: test.database)
        #expect(try await manager.load(for: "b") == nil)
        try await manager.save(Data("1".utf8), for: "b")
        try await manager.save(Data("2".utf8), for: "b")
        try await manager.save(Data("3".utf8), for: "a")
        #expect(try await manager.allAccounts() == ["a", "b"])
        #expect(test.openedSecretCount == 0)
        #expect(try await manager.load(for: "b") == Data("2".utf8))
        try await manager.delete(key: "b")
        try await manager.delete(key: "b")
        #expect(try await manager.allAccounts() == ["a"])
        #expect(try test.items().map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
        test.inject(.locked, times: 1)
        await #expect(throws: KeychainError.self) { try await manager.load(for: "a") }
        #expect(try await manager.load(for: "a") == Data("3".utf8))
    }
}
