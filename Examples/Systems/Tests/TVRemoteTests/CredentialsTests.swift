// The credentials of the television: saved, loaded, cleared, and made by pairing.

import ExampleTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

@testable import TVRemote

@Suite struct `Credentials` {
    static let all = [
        TVCredentials.paired, .unpaired,
        TVCredentials(ipAddress: "", macAddress: "", clientKey: ""),
        TVCredentials(
            ipAddress: "fe80::1", macAddress: "телевизор",
            clientKey: String(repeating: "ключ.k3y!", count: 1200).prefix(10_000).description),
    ]

    @Test(arguments: Place.allCases, all)
    func `credentials load as they were saved, empty or with a key of 10,000 characters`(
        _ place: Place, _ credentials: TVCredentials
    ) throws {
        let manager = place.manager()
        try manager.saveCredentials(credentials)
        #expect(try manager.loadCredentials() == credentials)
    }

    @Test func `the table has an empty key and one of 10,000 characters`() {
        #expect(Self.all.map { $0.clientKey?.count } == [13, nil, 0, 10_000])
    }

    @Test(arguments: Place.allCases)
    func `absent credentials are nil, and cleared ones are absent`(_ place: Place) throws {
        let manager = place.manager()
        #expect(try manager.loadCredentials() == nil)
        try manager.saveCredentials(.paired)
        try manager.clearCredentials()
        #expect(try manager.loadCredentials() == nil)
        try manager.clearCredentials()
    }

    @Test func `they are one item under the app's service and account`() throws {
        let test = TestKeychain()
        try KeychainManager(in: test.database).saveCredentials(.paired)
        try KeychainManager(in: test.database).saveCredentials(.unpaired)
        let item = try #require(try test.items().first)
        #expect(try test.items().count == 1)
        #expect(item.service == "com.DaraConsultingInc.LGTVRemoteWidget.credentials")
        #expect(item.account == "default")
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
    }

    @Test(arguments: Place.allCases)
    func `pairing stores a key, and clearing makes it start again`(_ place: Place) throws {
        let manager = place.manager()
        func pair(_ answer: String?) throws -> String? {
            try manager.pair(ipAddress: "192.168.1.20", macAddress: "A8:23:FE:01:02:03") {
                try #require(answer)
            }.clientKey
        }
        #expect(try pair("first") == "first")
        // Nobody asks the television again.
        #expect(try pair(nil) == "first")
        try manager.clearCredentials()
        #expect(try pair("second") == "second")
        #expect(try manager.loadCredentials()?.clientKey == "second")
    }

    @Test func `a pairing that fails leaves addresses without a key`() throws {
        struct Refused: Error {}
        let manager = Place.memory.manager()
        #expect(throws: Refused.self) {
            _ = try manager.pair(ipAddress: "192.168.1.20", macAddress: "A8:23:FE:01:02:03") {
                throw Refused()
            }
        }
        #expect(try manager.loadCredentials() == .unpaired)
    }

    @Test func `a television that moved keeps its key, another one doesn't get it`() throws {
        let manager = Place.memory.manager()
        try manager.saveCredentials(.paired)
        let moved = try manager.pair(
            ipAddress: "10.0.0.7", macAddress: TVCredentials.paired.macAddress
        ) {
            Issue.record("It is paired.")
            return ""
        }
        #expect(moved.clientKey == "k3y-of-the-tv")
        #expect(try manager.loadCredentials()?.ipAddress == "10.0.0.7")
        let other = try manager.pair(ipAddress: "10.0.0.7", macAddress: "other") { "other key" }
        #expect(other.clientKey == "other key")
    }

    @Test func `no description shows the key`() {
        var dumped = ""
        dump(TVCredentials.paired, to: &dumped)
        for text in ["\(TVCredentials.paired)", String(reflecting: TVCredentials.paired), dumped] {
            #expect(text.contains("192.168.1.20"))
            #expect(!text.contains("k3y-of-the-tv"))
        }
    }
}
