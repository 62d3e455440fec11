// Bytes by key: saved, replaced, loaded and deleted, whatever they are.

import ExampleTesting
import Foundation
import Keychain
import Testing

@testable import Capture

@Suite struct `Keychain service` {
    @Test func `service and accounts are those of the app`() {
        #expect(KeychainService.service == "app.rial.keychain")
        #expect(
            KeychainService.Account.all == [
                "rial.attestation.keyId", "rial.device.id", "rial.device.state",
                "rial.encryption.key",
            ])
    }

    /// Empty, one zero, every byte, no UTF-8, 1 MB.
    static let values: [Data] = [
        Data(), Data([0]), Data(0...255), Data([0xFF, 0xFE, 0, 0xC3, 0x28]),
        Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
    ]

    @Test(arguments: Place.allCases, values)
    func `what is saved is loaded byte for byte`(_ place: Place, _ value: Data) throws {
        let service = place.service()
        try service.save(value, forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == value)
    }

    @Test(arguments: Place.allCases)
    func `an absent item loads as nil`(_ place: Place) throws {
        #expect(try place.service().load(forKey: anyKey) == nil)
    }

    @Test(arguments: Place.allCases)
    func `saving twice replaces the value in place`(_ place: Place) throws {
        let service = place.service()
        try service.save(Data("one".utf8), forKey: anyKey)
        let first = try #require(try service.attributes(forKey: anyKey))
        try service.save(Data("two".utf8), forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == Data("two".utf8))
        let second = try #require(try service.attributes(forKey: anyKey))
        #expect(second.persistentReference == first.persistentReference)
        #expect(second.creationDate == first.creationDate)
    }

    @Test(arguments: Place.allCases)
    func `adding a duplicate fails and leaves the value`(_ place: Place) throws {
        let service = place.service()
        try service.add(Data("one".utf8), forKey: anyKey)
        let error = try #require(failure { try service.add(Data("two".utf8), forKey: anyKey) })
        #expect(error.reason == .duplicateItem)
        #expect(error.status == -25299)
        #expect(try service.load(forKey: anyKey) == Data("one".utf8))
    }

    @Test(arguments: Place.allCases)
    func `a deleted item is gone, and deleting it again succeeds`(_ place: Place) throws {
        let service = place.service()
        try service.save(Data("one".utf8), forKey: anyKey)
        try service.delete(forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == nil)
        try service.delete(forKey: anyKey)
    }

    @Test(arguments: Place.allCases)
    func `every key is an item of its own, however odd`(_ place: Place) throws {
        let service = place.service()
        let keys =
            ["", " ", "RIAL.TEST", "ключ", "a\0b", "a", String(repeating: "k", count: 10_000)]
            + KeychainService.Account.all
        for key in keys { try service.save(Data(key.utf8), forKey: key) }
        for key in keys { #expect(try service.load(forKey: key) == Data(key.utf8)) }
        try service.delete(forKey: "a")
        #expect(try service.load(forKey: "a") == nil)
        #expect(try service.load(forKey: "a\0b") == Data("a\0b".utf8))
    }

    @Test(arguments: Place.allCases)
    func `another instance finds what one has saved`(_ place: Place) throws {
        let database = place.database()
        try KeychainService.quiet(in: database).save(Data("one".utf8), forKey: anyKey)
        #expect(try KeychainService.quiet(in: database).load(forKey: anyKey) == Data("one".utf8))
    }

    @Test(arguments: Place.allCases)
    func `items of other services are neither seen nor touched`(_ place: Place) throws {
        let database = place.database()
        let other = Keychain(service: "org.example.other", in: database)
        try other.save("theirs", for: anyKey)
        let service = KeychainService.quiet(in: database)
        #expect(try service.load(forKey: anyKey) == nil)
        try service.save(Data("ours".utf8), forKey: anyKey)
        try service.delete(forKey: anyKey)
        #expect(try other.load(for: anyKey) == "theirs")
    }

    @Test func `another program of the same user doesn't see the items`() throws {
        let folder = TemporaryFolder.new()
        func program(_ group: String) -> KeychainService {
            KeychainService.quiet(in: KeychainDatabase(directory: folder, accessGroups: [group]))
        }
        try program("rial").save(Data("ours".utf8), forKey: anyKey)
        #expect(try program("other").load(forKey: anyKey) == nil)
        #expect(try program("rial").load(forKey: anyKey) == Data("ours".utf8))
    }
}
