// The store: values of any Codable type by service and account.

import ExampleTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

@testable import TVRemote

@Suite struct `Keychain manager` {
    struct Settings: Codable, Equatable {
        var volumes: [String: Int]
        var startsAt: Date?
    }

    enum Input: String, Codable { case antenna, hdmi }

    private func roundTrip<Value: Codable & Equatable & Sendable>(
        _ value: Value, _ manager: KeychainManager
    ) throws {
        try manager.save(value, service: "service", account: "\(Value.self)")
        let loaded: Value? = try manager.load(service: "service", account: "\(Value.self)")
        #expect(loaded == value)
        #expect(
            try manager.load(Value.self, service: "service", account: "\(Value.self)") == value)
    }

    @Test(arguments: Place.allCases)
    func `values of any Codable type load as they were saved`(_ place: Place) throws {
        let manager = place.manager()
        try roundTrip(TVCredentials.paired, manager)
        try roundTrip(
            Settings(volumes: ["a": 1], startsAt: Date(timeIntervalSince1970: 60)), manager)
        try roundTrip(Input.hdmi, manager)
        try roundTrip("text", manager)
        try roundTrip(42, manager)
        try roundTrip([true, false], manager)
        try roundTrip(Data([0, 255]), manager)
        try roundTrip(UUID(), manager)
    }

    @Test(arguments: Place.allCases)
    func `saving again overwrites`(_ place: Place) throws {
        let manager = place.manager()
        try manager.save("one", service: "service", account: "account")
        try manager.save("two", service: "service", account: "account")
        #expect(try manager.load(String.self, service: "service", account: "account") == "two")
    }

    @Test(arguments: Place.allCases)
    func `an absent item loads as nil, and deleting it succeeds`(_ place: Place) throws {
        let manager = place.manager()
        #expect(try manager.load(String.self, service: "service", account: "account") == nil)
        try manager.delete(service: "service", account: "account")
    }

    @Test(arguments: Place.allCases)
    func `accounts and services don't disturb each other`(_ place: Place) throws {
        let manager = place.manager()
        let places = [("s1", "a"), ("s1", "b"), ("s1", "A"), ("s2", "a"), ("", "a"), ("s1", "")]
        for (service, account) in places {
            try manager.save("\(service)/\(account)", service: service, account: account)
        }
        try manager.save("changed", service: "s1", account: "a")
        try manager.delete(service: "s1", account: "b")
        for (service, account) in places {
            let expected =
                switch (service, account) {
                case ("s1", "a"): "changed"
                case ("s1", "b"): String?.none
                default: "\(service)/\(account)"
                }
            #expect(
                try manager.load(String.self, service: service, account: account) == expected)
        }
    }

    @Test(arguments: Place.allCases)
    func `a value that doesn't decode as the asked type is an error and stays`(
        _ place: Place
    ) throws {
        let manager = place.manager()
        try manager.save(["a": 1], service: "service", account: "account")
        let error = failure {
            _ = try manager.load(TVCredentials.self, service: "service", account: "account")
        }
        #expect(error?.code == .decodingFailed)
        #expect(
            try manager.load([String: Int].self, service: "service", account: "account")
                == ["a": 1])
    }

    @Test func `a group without the entitlement is denied in every operation`() throws {
        let test = TestKeychain()
        test.accessGroups = ["team.other"]
        let manager = KeychainManager(accessGroup: "team.shared", in: test.database)
        let errors = [
            failure { try manager.saveCredentials(.paired) },
            failure { _ = try manager.loadCredentials() },
            failure { try manager.clearCredentials() },
        ]
        for error in errors { #expect(error?.code.rawValue == -34018) }
    }
}
