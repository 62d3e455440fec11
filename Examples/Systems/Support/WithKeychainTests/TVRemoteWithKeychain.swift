// The storage layer of TVRemote, written with Keychain: the last code block of TVRemote's README.

import ExampleTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

struct TVCredentials: Codable, Equatable {
    var ipAddress: String
    var macAddress: String
    var clientKey: String?
}

extension KeychainKey where Value == TVCredentials {
    static var television: Self { Self("default") }
}

struct TVCredentialsStore {
    var keychain = Keychain(service: "com.DaraConsultingInc.LGTVRemoteWidget.credentials")

    func saveCredentials(_ credentials: TVCredentials) throws {
        try keychain.save(credentials, for: .television)
    }

    func loadCredentials() throws -> TVCredentials? { try keychain.load(.television) }

    func clearCredentials() throws { try keychain.delete(.television) }
}

@Suite struct `TVRemote with Keychain` {
    @Test func `the README shows the tested snippet`() throws {
        try expectSnippet(inReadmeOf: "TVRemote")
    }

    @Test func `credentials are saved, overwritten, loaded and cleared`() throws {
        let test = TestKeychain()
        let store = TVCredentialsStore(
            keychain: Keychain(service: TVCredentialsStore().keychain.service, in: test.database))
        #expect(try store.loadCredentials() == nil)
        var credentials = TVCredentials(ipAddress: "10.0.0.14", macAddress: "34:E6:E6:F9:05:50")
        try store.saveCredentials(credentials)
        credentials.clientKey = "9ba71d29c353cf0bdcc00c4b0a8cc189"
        try store.saveCredentials(credentials)
        #expect(try store.loadCredentials() == credentials)
        let item = try #require(try test.items().first)
        #expect(try test.items().count == 1)
        #expect(item.service == "com.DaraConsultingInc.LGTVRemoteWidget.credentials")
        #expect(item.account == "default")
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        try store.clearCredentials()
        try store.clearCredentials()
        #expect(try store.loadCredentials() == nil)
    }

    @Test func `loading a value of another type fails and keeps the value`() throws {
        let keychain = Keychain(service: "test", in: TestKeychain().database)
        try keychain.save(["a": 1], for: KeychainKey("default"))
        #expect(throws: KeychainError.self) {
            try TVCredentialsStore(keychain: keychain).loadCredentials()
        }
        #expect(try keychain.load(KeychainKey<[String: Int]>("default")) == ["a": 1])
    }
}
