// Values of many types round-trip through the typed API, on the engine and on the SecItem
// functions.

import Crypto
import Foundation
import Testing

@testable import Keychain

@Suite struct ValueTests {
    static let binaries: [Data] = [
        Data(), Data(0...255), Data([0]), Data("a\0b\n\r\nc".utf8),
        Data(repeating: 0xA5, count: 1 << 20),
    ]

    @Test(arguments: Way.allCases, binaries)
    func `bytes round-trip unchanged`(way: Way, data: Data) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save(data, for: .blob)
        #expect(try keychain.load(.blob) == data)
        #expect(try keychain.load(KeychainKey<Data>("blob")) == data)
    }

    @Test(
        arguments: Way.allCases,
        ["", "plain", "a\0b\n", "żółć 🔑", String(repeating: "k", count: 10_000)])
    func `text round-trips unchanged`(way: Way, text: String) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save(text, for: .token)
        #expect(try keychain.load(.token) == text)
        #expect(try keychain.load(.blobNamedToken) == Data(text.utf8))
    }

    @Test(arguments: Way.allCases)
    func `an absent value is nil`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        #expect(try keychain.load(.token) == nil)
        #expect(try keychain.load(KeychainKey<String>("token")) == nil)
        #expect(try keychain.load(.deviceState) == nil)
        #expect(try !keychain.exists(.token))
        #expect(try !keychain.exists(.account("token")))
        #expect(try keychain.item(.token) == nil)
        #expect(try keychain.items().isEmpty)
    }

    @Test(
        arguments: Way.allCases,
        ["", "ünïcødé 🔐", "e\u{301}", "\u{e9}", "a b\tc\nd", "a\0b", "A", "a"])
    func `any text can be an account`(way: Way, account: String) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("other", for: KeychainKey("another account"))
        try keychain.save("value", for: KeychainKey(account))
        #expect(try keychain.load(KeychainKey<String>(account)) == "value")
        #expect(
            try keychain.item(.account(account))?.account.utf8.elementsEqual(account.utf8) == true)
        #expect(try keychain.items().count == 2)
    }

    @Test(arguments: Way.allCases)
    func `accounts are compared byte by byte`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("decomposed", for: KeychainKey("e\u{301}"))
        try keychain.save("composed", for: KeychainKey("\u{e9}"))
        try keychain.save("upper", for: KeychainKey("A"))
        try keychain.save("lower", for: KeychainKey("a"))
        #expect(try keychain.load(KeychainKey<String>("e\u{301}")) == "decomposed")
        #expect(try keychain.load(KeychainKey<String>("\u{e9}")) == "composed")
        #expect(try keychain.load(KeychainKey<String>("A")) == "upper")
        #expect(try keychain.load(KeychainKey<String>("a")) == "lower")
    }

    @Test(arguments: Way.allCases)
    func `a UUID is stored as its text`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let identifier = UUID()
        try keychain.save(identifier, for: KeychainKey("id"))
        #expect(try keychain.load(KeychainKey<UUID>("id")) == identifier)
        #expect(try keychain.load(KeychainKey<String>("id")) == identifier.uuidString)
        try keychain.save(identifier.uuidString.lowercased(), for: KeychainKey("id"))
        #expect(try keychain.load(KeychainKey<UUID>("id")) == identifier)
    }

    @Test(arguments: Way.allCases)
    func `a Codable value is stored as JSON with ISO 8601 dates`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let state = DeviceState(
            deviceID: "d/1", level: .enclave, registeredAt: Date(timeIntervalSince1970: 86_400))
        try keychain.save(state, for: .deviceState)
        #expect(try keychain.load(.deviceState) == state)
        #expect(try keychain.load(KeychainKey<DeviceState>("device.state")) == state)
        #expect(
            try keychain.load(KeychainKey<String>("device.state"))
                == #"{"deviceID":"d/1","level":"secure_enclave","#
                + #""registeredAt":"1970-01-02T00:00:00Z"}"#)
        try keychain.save([1, 2, 3], for: KeychainKey("list"))
        #expect(try keychain.load(KeychainKey<[Int]>("list")) == [1, 2, 3])
        try keychain.save(true, for: KeychainKey("flag"))
        #expect(try keychain.load(KeychainKey<Bool>("flag")) == true)
    }

    @Test(arguments: Way.allCases)
    func `a generic function stores a value in the same form as code for its concrete type`(
        way: Way
    ) throws {
        func save<Value: Codable & Sendable>(_ value: Value, in keychain: Keychain) throws {
            try keychain.save(value, for: KeychainKey("value"))
        }
        func load<Value: Codable & Sendable>(
            _ type: Value.Type, in keychain: Keychain
        ) throws -> Value? {
            try keychain.load(KeychainKey<Value>("value"))
        }
        let keychain = try TestDatabase(way).keychain()
        try save("text", in: keychain)
        #expect(try keychain.load(KeychainKey<Data>("value")) == Data("text".utf8))
        #expect(try load(String.self, in: keychain) == "text")
        try save(Data([1, 2]), in: keychain)
        #expect(try keychain.load(KeychainKey<Data>("value")) == Data([1, 2]))
        #expect(try load(Data.self, in: keychain) == Data([1, 2]))
    }

    @Test(arguments: Way.allCases)
    func `a custom type is stored in the form it defines`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let code = PairingCode(digits: [1, 2, 3, 4, 5, 6])
        try keychain.save(code, for: KeychainKey("code"))
        #expect(try keychain.load(KeychainKey<PairingCode>("code")) == code)
        #expect(try keychain.load(KeychainKey<Data>("code")) == Data([1, 2, 3, 4, 5, 6]))
    }

    @Test(arguments: Way.allCases)
    func `a key can define the stored form`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let key = KeychainKey<UInt16>(
            "port", encode: { Data([UInt8($0 >> 8), UInt8($0 & 255)]) },
            decode: { $0.reduce(0) { $0 << 8 | UInt16($1) } })
        try keychain.save(8080, for: key)
        #expect(try keychain.load(key) == 8080)
        #expect(try keychain.load(KeychainKey<Data>("port")) == Data([0x1F, 0x90]))
    }

    @Test(arguments: Way.allCases)
    func `a key can define the coders`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let state = DeviceState(
            deviceID: "d", level: .unverified, registeredAt: Date(timeIntervalSince1970: 0.5))
        try keychain.save(state, for: .secondsSince1970)
        #expect(try keychain.load(.secondsSince1970) == state)
        let stored = try #require(try keychain.load(KeychainKey<String>("x")))
        #expect(stored.contains(#""registeredAt":0.5"#))
        // The key's coders take precedence over the form that the type defines.
        let text = KeychainKey<String>("y", encoder: JSONEncoder(), decoder: JSONDecoder())
        try keychain.save("quoted", for: text)
        #expect(try keychain.load(text) == "quoted")
        #expect(try keychain.load(KeychainKey<String>("y")) == #""quoted""#)
    }

    @Test(arguments: Way.allCases)
    func `a loaded symmetric key opens what the saved key sealed`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let key = SymmetricKey(size: .bits256)
        let sealed = try AES.GCM.seal(Data("secret".utf8), using: key)
        try keychain.save(key, for: KeychainKey("key"))
        let loaded = try #require(try keychain.load(KeychainKey<SymmetricKey>("key")))
        #expect(loaded == key)
        #expect(try AES.GCM.open(sealed, using: loaded) == Data("secret".utf8))
    }

    @Test(arguments: Way.allCases)
    func `private keys round-trip unchanged`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        func roundTrip<Key: RawPrivateKey>(_ key: Key) throws -> Bool {
            try keychain.save(key, for: KeychainKey("key"))
            return try keychain.load(KeychainKey<Key>("key"))?.rawRepresentation
                == key.rawRepresentation
        }
        #expect(try roundTrip(Curve25519.Signing.PrivateKey()))
        #expect(try roundTrip(Curve25519.KeyAgreement.PrivateKey()))
        #expect(try roundTrip(P256.Signing.PrivateKey()))
        #expect(try roundTrip(P256.KeyAgreement.PrivateKey()))
        #expect(try roundTrip(P384.Signing.PrivateKey()))
        #expect(try roundTrip(P384.KeyAgreement.PrivateKey()))
        #expect(try roundTrip(P521.Signing.PrivateKey()))
        #expect(try roundTrip(P521.KeyAgreement.PrivateKey()))
    }
}

extension KeychainKey where Value == Data {
    static var blobNamedToken: Self { Self("token") }
}
