// KeychainManagerTests: storing values of any Codable type by service and account.

import Foundation
import KeychainTesting
import Security
import Testing

@testable import TVRemote

@Suite(.cleanKeychain) struct `Keychain manager` {
    struct Settings: Codable, Equatable {
        var volumes: [String: Int]
        var startsAt: Date?
    }

    enum Input: String, Codable { case antenna, hdmi }

    let manager = KeychainManager()

    private func load<T: Codable>(_ type: T.Type = T.self, _ account: String = "tv") throws -> T? {
        try manager.load(type, service: testService, account: account)
    }

    private func save(_ value: some Codable, _ account: String = "tv") throws {
        try manager.save(value, service: testService, account: account)
    }

    @Test func `credentials are saved and loaded`() throws {
        try save(TVCredentials.paired)
        #expect(try load(TVCredentials.self) == .paired)
        #expect(
            try KeychainManager().load(
                TVCredentials.self, service: testService, account: "tv") == .paired)
    }

    @Test func `a deleted value is gone, and deleting an absent one succeeds`() throws {
        try save(TVCredentials.paired)
        try manager.delete(service: testService, account: "tv")
        #expect(try load(TVCredentials.self) == nil)
        #expect(try TestKeychain.current.items().isEmpty)
        try manager.delete(service: testService, account: "tv")
    }

    @Test func `saving again overwrites the value`() throws {
        try save("one")
        try save("two")
        #expect(try load(String.self) == "two")
        #expect(try TestKeychain.current.items().count == 1)
    }

    @Test func `an absent value loads as nil`() throws {
        #expect(try load(TVCredentials.self) == nil)
    }

    @Test func `values of different accounts and services don't affect each other`() throws {
        let places = [
            (testService, "a"), (testService, "b"), (testService, "A"), (testService, ""),
            ("\(testService).2", "a"), ("", "a"),
        ]
        for (service, account) in places {
            try manager.save("\(service)/\(account)", service: service, account: account)
        }
        try save("changed", "a")
        try manager.delete(service: testService, account: "b")
        let loaded = try places.map {
            try manager.load(String.self, service: $0, account: $1)
        }
        #expect(
            loaded == [
                "changed", nil, "\(testService)/A", "\(testService)/", "\(testService).2/a", "/a",
            ])
    }

    @Test func `empty strings are saved and loaded`() throws {
        let empty = TVCredentials(ipAddress: "", macAddress: "", clientKey: "")
        try save(empty)
        #expect(try load(TVCredentials.self) == empty)
        try save("", "text")
        #expect(try load(String.self, "text")?.isEmpty == true)
    }

    @Test func `a client key of 10,000 characters loads as it was saved`() throws {
        var credentials = TVCredentials.paired
        let key = String(repeating: "ключ.k3y!\n", count: 1000)
        #expect(key.count == 10_000)
        credentials.clientKey = key
        try save(credentials)
        #expect(try load(TVCredentials.self)?.clientKey == key)
    }

    @Test func `loading a value of another type throws a decoding error and keeps the value`()
        throws
    {
        try save(["a": 1])
        #expect(throws: DecodingError.self) { try load(TVCredentials.self) }
        #expect(try load([String: Int].self) == ["a": 1])
        try save("secret input")
        #expect {
            try load(Input.self)
        } throws: { error in
            error is DecodingError && !"\(error) \(error.localizedDescription)".contains("secret")
        }
        #expect(try load(String.self) == "secret input")
    }

    @Test func `values of any Codable type load as they were saved`() throws {
        func expectRoundTrip<T: Codable & Equatable>(_ value: T) throws {
            try save(value, "\(T.self)")
            #expect(try load(T.self, "\(T.self)") == value)
        }
        try expectRoundTrip(TVCredentials.unpaired)
        try expectRoundTrip(
            Settings(volumes: ["a": 1], startsAt: Date(timeIntervalSince1970: 60.5)))
        try expectRoundTrip(Input.hdmi)
        try expectRoundTrip("text")
        try expectRoundTrip(42)
        try expectRoundTrip([true, false])
        try expectRoundTrip(Data([0, 255]))
        try expectRoundTrip(UUID())
    }

    @Test func `saving a value without a JSON form fails and keeps the stored value`() throws {
        try save(1.5)
        #expect {
            try save(Double.infinity)
        } throws: {
            if case KeychainError.encodingFailed = $0 { true } else { false }
        }
        #expect(try load(Double.self) == 1.5)
    }

    @Test func `a value that is saved ten times loads as saved each time`() throws {
        let loaded = try (0..<10).map { round in
            var credentials = TVCredentials.paired
            credentials.clientKey = "key \(round)"
            try save(credentials)
            return try load(TVCredentials.self)?.clientKey
        }
        #expect(
            loaded == [
                "key 0", "key 1", "key 2", "key 3", "key 4", "key 5", "key 6", "key 7", "key 8",
                "key 9",
            ])
        #expect(try TestKeychain.current.items().count == 1)
    }

    @Test func `the clean-up deletes every item of the test service and no other`() throws {
        try save("one", "a")
        try save("two", "b")
        #expect(
            addItem([
                kSecAttrAccount as String: "c", kSecAttrSynchronizable as String: true,
                kSecValueData as String: Data(),
            ]) == errSecSuccess)
        try manager.save("three", service: "other", account: "a")
        let keychain = TestKeychain.current
        #expect(try keychain.items().count == 4)
        try keychain.cleanUp()
        #expect(try keychain.items().map(\.service) == ["other"])
    }
}
