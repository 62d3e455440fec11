// KeychainServiceProtocol and its two implementations: the same tests for both.

import DeviceKeychain
import DeviceKeychainTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `Keychain service` {
    struct Settings: Codable, Equatable {
        var volume: Double
        var friends: [String]
    }

    @Test(arguments: Place.allCases)
    func `what is saved by key is loaded, exists, is replaced and is deleted`(place: Place) throws {
        let storage = try place.make()
        let service = storage.service
        #expect(try service.load(forKey: .nickname) == nil)
        #expect(try !service.exists(forKey: .nickname))
        for data in [Data("first".utf8), Data(), Data([0, 255, 10]), Data(count: 1_000_000)] {
            try service.save(data, forKey: .nickname)
            #expect(try service.load(forKey: .nickname) == data)
            #expect(try service.exists(forKey: .nickname))
        }
        #expect(try service.load(forKey: .household) == nil)
        try service.delete(forKey: .nickname)
        #expect(try service.load(forKey: .nickname) == nil)
        #expect(try !service.exists(forKey: .nickname))
        try service.delete(forKey: .nickname)
    }

    @Test(arguments: Place.allCases)
    func `text, identifiers and Codable values come back as they were`(place: Place) throws {
        let storage = try place.make()
        let service = storage.service
        #expect(try service.loadString(forKey: .nickname) == nil)
        #expect(try service.loadUUID(forKey: .household) == nil)
        #expect(try service.load(Settings.self, forKey: .settings) == nil)

        let identifier = UUID()
        let settings = Settings(volume: 0.5, friends: ["Ada", "Žofie"])
        for text in ["", "two\nlines\0", "Žofie 🐩"] {
            try service.save(text, forKey: .nickname)
            #expect(try service.loadString(forKey: .nickname) == text)
        }
        try service.save(identifier, forKey: .household)
        try service.save(settings, forKey: .settings)
        #expect(try service.loadUUID(forKey: .household) == identifier)
        #expect(try service.loadString(forKey: .household) == identifier.uuidString)
        #expect(try service.load(Settings.self, forKey: .settings) == settings)
    }

    @Test(arguments: Place.allCases)
    func `bytes of another form are told apart and stay`(place: Place) throws {
        let storage = try place.make()
        let service = storage.service
        let bytes = Data([0xFF, 0xFE])
        try service.save(bytes, forKey: .nickname)
        #expect(
            failure { _ = try service.loadString(forKey: .nickname) } == .dataConversionFailed)
        #expect(failure { _ = try service.loadUUID(forKey: .nickname) } == .unexpectedData)
        #expect(
            failure { _ = try service.load(Settings.self, forKey: .nickname) } == .unexpectedData)
        #expect(
            failure { try service.save([Double.nan], forKey: .nickname) } == .dataConversionFailed)
        #expect(try service.load(forKey: .nickname) == bytes)
    }

    @Test func `items are the app's, of this device only and not synchronized`() throws {
        let memory = InMemoryKeychainService()
        try memory.save("Ada", forKey: .nickname)
        let item = try #require(try memory.test.items().first)
        #expect(item.service == "com.poopypals.app")
        #expect(item.account == StorageKey.nickname.rawValue)
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
    }

    @Test func `looking whether a key exists opens no secret`() throws {
        let memory = InMemoryKeychainService()
        try memory.save("Ada", forKey: .nickname)
        #expect(try memory.exists(forKey: .nickname))
        #expect(memory.test.openedSecretCount == 0)
        #expect(try memory.loadString(forKey: .nickname) == "Ada")
        #expect(memory.test.openedSecretCount == 1)
    }

    @Test func `two services in memory don't see each other`() throws {
        let memory = InMemoryKeychainService()
        try memory.save("Ada", forKey: .nickname)
        #expect(try !InMemoryKeychainService().exists(forKey: .nickname))
    }

    // MARK: Errors

    @Test(arguments: [KeychainError.Code.interactionNotAllowed, .authFailed, .ioError, .diskFull])
    func `a failed save, load or deletion tells its status and changes nothing`(
        code: KeychainError.Code
    ) throws {
        let memory = InMemoryKeychainService()
        try memory.save("Ada", forKey: .nickname)
        memory.test.inject(.failure(code))
        let status = code.rawValue
        #expect(
            failure { try memory.save("Bob", forKey: .nickname) } == .saveFailed(status: status))
        #expect(
            failure { _ = try memory.loadString(forKey: .nickname) }
                == .loadFailed(status: status))
        #expect(
            failure { _ = try memory.exists(forKey: .nickname) } == .loadFailed(status: status))
        #expect(
            failure { try memory.delete(forKey: .nickname) } == .deleteFailed(status: status))
        memory.test.removeFaults()
        #expect(try memory.loadString(forKey: .nickname) == "Ada")
    }

    @Test func `the errors of the app are six, told apart by code and operation`() {
        let rows: [(KeychainError, KeychainFailure)] = [
            (KeychainError(.diskFull, operation: .save), .saveFailed(status: -34)),
            (KeychainError(.diskFull, operation: .update), .saveFailed(status: -34)),
            (KeychainError(.ioError, operation: .migrate), .saveFailed(status: -36)),
            (KeychainError(.decode, operation: .load), .loadFailed(status: -26275)),
            (
                KeychainError(.interactionNotAllowed, operation: .list),
                .loadFailed(status: -25308)
            ),
            (KeychainError(.authFailed, operation: .delete), .deleteFailed(status: -25293)),
            (KeychainError(.dataConversionFailed, operation: .load), .dataConversionFailed),
            (KeychainError(.encodingFailed, operation: .save), .dataConversionFailed),
            (KeychainError(.invalidData, operation: .load), .unexpectedData),
            (KeychainError(.decodingFailed, operation: .load), .unexpectedData),
            (KeychainError(.itemNotFound, operation: .load), .itemNotFound),
        ]
        #expect(rows.count == 11)
        for (error, meaning) in rows { #expect(KeychainFailure(error) == meaning) }
    }
}
