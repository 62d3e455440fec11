// Some examples of the articles in Keychain.docc, with test keychains instead of the user's. The
// tests check that the examples do what the articles say.

import Crypto
import Foundation
import Testing

@testable import Keychain

extension KeychainKey where Value == SymmetricKey {
    fileprivate static var files: Self { Self("files.key", size: .bits256) }
}

extension KeychainKey where Value == DeviceState {
    fileprivate static var legacyState: Self {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return Self("legacy.state", encoder: encoder, decoder: decoder)
    }
}

extension KeychainKey where Value == UUID {
    fileprivate static var installation: Self { Self("installation") }
}

@Suite struct ArticleTests {
    /// Records what a program would show. In an article, `show` stands for the program's own code.
    final class Screen: Sendable {
        let notes = Shared<[String]>([])

        func show(_ note: String) { notes.withLock { $0.append(note) } }
    }

    @Test func `an article's example of encryption works`() throws {
        let keychain = try TestDatabase(.typed).keychain()
        let photo = Data("photo".utf8)
        let name = "photo.jpg"

        let key = try keychain.load(.files, orAdd: { SymmetricKey(size: .bits256) })
        let sealed = try AES.GCM.seal(photo, using: key, authenticating: Data(name.utf8))
        let opened = try AES.GCM.open(sealed, using: key, authenticating: Data(name.utf8))

        #expect(opened == photo)
        #expect(try keychain.load(.files) == key)
        let combined = try #require(sealed.combined)
        #expect(combined.count == photo.count + 28)
        let stored = try AES.GCM.SealedBox(combined: combined)
        #expect(throws: CryptoKitError.self) {
            try AES.GCM.open(stored, using: key, authenticating: Data("other.jpg".utf8))
        }
    }

    @Test func `an article's example of a device identity works`() async throws {
        let database = try TestDatabase(.typed).database

        let identity = DeviceIdentity(service: "com.example.app", in: database)
        let identifier = try await identity.identifier()
        let sameAsUUID = try await identity.identifier(as: UUID.self)

        #expect(sameAsUUID.uuidString == identifier)
        let old = try #require(UUID(uuidString: "3F2504E0-4F89-41D3-9A0C-0305E82C3301"))
        do {
            try await identity.import(old)
        } catch KeychainError.Code.duplicateItem {
            try await identity.import(old, replacing: true)
        }
        #expect(try await identity.export() == old.uuidString)
        try await identity.reset()
        #expect(try await !identity.exists())
    }

    @Test func `an article's example of a migration works`() throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        let old = try TemporaryDefaults()
        let defaults = old.defaults
        let screen = Screen()
        let identifier = UUID()
        defaults.set(identifier.uuidString, forKey: "deviceId")
        defaults.set("old", forKey: "token")
        try keychain.save("new", for: .token)

        let report = keychain.migrate(
            [.init("deviceId", to: .installation), .init("token", to: .token)], from: defaults)
        for record in report.records where !record.outcome.isComplete {
            screen.show("\(record.source): \(record.outcome)")
        }

        #expect(screen.notes.withLock { $0 } == ["token: conflict"])
        #expect(try keychain.load(.installation) == identifier)

        let named = Keychain.Migration.Entry("code", to: KeychainKey<PairingCode>("code")) {
            guard let text = $0 as? String else { throw KeychainError(.invalidData) }
            return PairingCode(digits: Array(text.utf8))
        }
        defaults.set("123456", forKey: "code")
        #expect(keychain.migrate([named], from: defaults).isComplete)

        let stricter = Keychain(
            service: keychain.service, accessibility: .whenUnlocked, in: test.database)
        #expect(try stricter.migrateAll(from: keychain).isComplete)
        #expect(try keychain.item(.token)?.accessibility == .whenUnlocked)

        let shared = Keychain(
            service: keychain.service, accessGroup: "group.shared", in: test.database)
        let own = Keychain(
            service: keychain.service, accessGroup: "group.main", in: test.database)
        #expect(try shared.migrate(.token, from: own) == .migrated)
        #expect(try shared.load(.token) == "new")
    }

    @Test func `an article's example of availability works`() async throws {
        let test = try TestDatabase(.typed)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        try test.lock()

        func note() async throws -> String {
            switch try await keychain.availability(of: .pin).state {
            case .available: "sign in"
            case .absent: "ask for a PIN"
            case .locked, .busy: "wait"
            default: "show the error"
            }
        }

        #expect(try await note() == "wait")
        do {
            try await keychain.waitUntilAvailable(.pin, timeout: .milliseconds(1))
            Issue.record("the wait for a locked item succeeded")
        } catch KeychainError.Code.interactionNotAllowed {
        }
        try test.unlock()
        #expect(try await note() == "sign in")
        #expect(try await keychain.waitUntilAvailable(.pin, timeout: .seconds(30)))
    }

    @Test func `an article's example of custom coders works`() throws {
        let keychain = try TestDatabase(.typed).keychain()
        let state = DeviceState(
            deviceID: "d", level: .unverified, registeredAt: Date(timeIntervalSince1970: 0.25))
        try keychain.save(state, for: .legacyState)
        #expect(try keychain.load(.legacyState) == state)
    }

    @Test func `an article's example of the causes of errors works`() {
        func advice(_ error: KeychainError) -> String {
            switch error.cause {
            case .contention: "try again"
            case .interruption: "try again unless it is there"
            case .permission: "correct the rights"
            case .damage: "run keychainctl check"
            default: "see the code"
            }
        }
        #expect(advice(KeychainError(.decode)) == "run keychainctl check")
        #expect(advice(KeychainError(.missingEntitlement)) == "correct the rights")
        #expect(advice(KeychainError(.diskFull)) == "see the code")
    }
}
