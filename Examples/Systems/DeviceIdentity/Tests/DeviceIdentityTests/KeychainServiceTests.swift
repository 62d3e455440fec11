// KeychainServiceTests: the same tests for both implementations of KeychainServiceProtocol.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import KeychainTesting
import Security
import Testing

@Suite struct `Keychain service` {
    struct Settings: Codable, Equatable {
        var volume: Double
        var friends: [String]
    }

    static let nickname = "com.poopypals.nickname"
    static let household = "com.poopypals.household"

    @Test(arguments: Place.allCases)
    func `data saved under a key can be loaded, found, replaced and deleted`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let service = storage.service
            #expect(try service.load(for: Self.nickname) == nil)
            #expect(try !service.exists(for: Self.nickname))
            for data in [Data("first".utf8), Data(), Data([0, 255, 10]), Data(count: 1_000_000)] {
                try service.save(data, for: Self.nickname)
                #expect(try service.load(for: Self.nickname) == data)
                #expect(try service.exists(for: Self.nickname))
            }
            #expect(try service.load(for: Self.household) == nil)
            try service.save(Data([1]), for: Self.household)
            try service.delete(for: Self.nickname)
            #expect(try service.load(for: Self.nickname) == nil)
            #expect(try !service.exists(for: Self.nickname))
            #expect(try service.load(for: Self.household) == Data([1]))
            try service.delete(for: Self.nickname)
        }
    }

    @Test(arguments: Place.allCases)
    func `adding under a key that has an item is refused, and the item is kept`(
        place: Place
    ) async throws {
        try await place.use { (storage) async throws in
            let service = storage.service
            #expect(try service.add(Data("first".utf8), for: Self.nickname))
            #expect(try !service.add(Data("second".utf8), for: Self.nickname))
            #expect(try service.loadString(for: Self.nickname) == "first")
        }
    }

    @Test(arguments: Place.allCases)
    func `text, UUIDs and Codable values are loaded as they were saved`(place: Place) async throws {
        try await place.use { storage in
            let service = storage.service
            #expect(try service.loadString(for: Self.nickname) == nil)
            #expect(try service.loadUUID(for: Self.nickname) == nil)
            #expect(try service.loadCodable(Settings.self, for: Self.nickname) == nil)

            for text in ["", "two\nlines\0", "Žofie 🐩"] {
                try service.saveString(text, for: KeychainKeys.supabaseToken)
                #expect(try service.loadString(for: KeychainKeys.supabaseToken) == text)
            }
            let uuid = UUID()
            try service.saveUUID(uuid, for: Self.household)
            #expect(try service.loadUUID(for: Self.household) == uuid)
            #expect(try service.loadString(for: Self.household) == uuid.uuidString)

            let settings = Settings(volume: 0.5, friends: ["Ada", "Žofie"])
            try service.saveCodable(settings, for: Self.nickname)
            #expect(try service.loadCodable(Settings.self, for: Self.nickname) == settings)
            let inferred: Settings? = try service.loadCodable(for: Self.nickname)
            #expect(inferred == settings)
            let date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
            try service.saveCodable(date, for: KeychainKeys.lastSyncDate)
            #expect(try service.loadCodable(Date.self, for: KeychainKeys.lastSyncDate) == date)
        }
    }

    @Test(arguments: Place.allCases)
    func `a failed conversion causes an error, and the stored bytes are kept`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let service = storage.service
            let bytes = Data([0xFF, 0xFE])
            try service.save(bytes, for: Self.nickname)
            #expect(throws: KeychainError.dataConversionFailed) {
                try service.loadString(for: Self.nickname)
            }
            #expect(throws: KeychainError.unexpectedData) {
                try service.loadUUID(for: Self.nickname)
            }
            #expect(throws: KeychainError.unexpectedData) {
                try service.loadCodable(Settings.self, for: Self.nickname)
            }
            #expect(throws: KeychainError.dataConversionFailed) {
                try service.saveCodable([Double.nan], for: Self.nickname)
            }
            #expect(try service.load(for: Self.nickname) == bytes)
        }
    }

    @Test(arguments: Place.allCases)
    func `keys are compared byte for byte`(place: Place) async throws {
        try await place.use { (storage) async throws in
            // The first key is a single code point, the second is a letter with a combining accent.
            // As Swift strings, the two are equal.
            let keys = ["é", "e\u{301}", "É", ""]
            for (number, key) in keys.enumerated() {
                #expect(try storage.service.add(Data("\(number)".utf8), for: key))
            }
            for (number, key) in keys.enumerated() {
                #expect(try storage.service.loadString(for: key) == "\(number)")
            }
        }
    }

    @Test(arguments: Place.allCases, [errSecInteractionNotAllowed, errSecAuthFailed, errSecIO])
    func `a failed save, load or deletion reports its status and changes nothing`(
        place: Place, status: OSStatus
    ) async throws {
        try await place.use { storage in
            let service = storage.service
            try service.saveString("Ada", for: Self.nickname)
            storage.fail(status)
            #expect(throws: KeychainError.saveFailed(status: status)) {
                try service.saveString("Bob", for: Self.nickname)
            }
            #expect(throws: KeychainError.saveFailed(status: status)) {
                try service.add(Data(), for: Self.household)
            }
            #expect(throws: KeychainError.loadFailed(status: status)) {
                try service.loadString(for: Self.nickname)
            }
            #expect(throws: KeychainError.loadFailed(status: status)) {
                try service.exists(for: Self.nickname)
            }
            #expect(throws: KeychainError.deleteFailed(status: status)) {
                try service.delete(for: Self.nickname)
            }
            storage.fail(nil)
            #expect(try service.loadString(for: Self.nickname) == "Ada")
            #expect(try !service.exists(for: Self.household))
        }
    }

    @Test func `resetting the mock removes its items and its failure`() throws {
        let mock = MockKeychainService()
        try mock.saveString("Ada", for: Self.nickname)
        mock.failure = errSecInteractionNotAllowed
        mock.reset()
        #expect(mock.failure == nil)
        #expect(try !mock.exists(for: Self.nickname))
        #expect(try mock.load(for: Self.nickname) == nil)
        #expect(try mock.add(Data(), for: Self.nickname))
    }

    @Test func `a mock doesn't contain another mock's items`() throws {
        let mock = MockKeychainService()
        try mock.saveString("Ada", for: Self.nickname)
        #expect(try !MockKeychainService().exists(for: Self.nickname))
    }
}
