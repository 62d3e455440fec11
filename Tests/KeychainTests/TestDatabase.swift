// TestDatabase: a keychain for one test, behind either backend.

import Foundation
import KeychainModel
import KeychainServices
import Testing

@testable import Keychain

/// The two ways from the API to a keychain service. Every conformance test runs over both.
enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case typed
    case secItem

    var testDescription: String { rawValue }

    func database(_ service: any KeychainService, _ groups: [String]) -> KeychainDatabase {
        let connection = KeychainConnection(service: service, caller: AccessGroups(groups))
        switch self {
        case .typed:
            return KeychainDatabase(
                backend: TypedBackend { () throws(KeychainFailure) in connection })
        case .secItem:
            return KeychainDatabase(
                backend: SecItemBackend { call in
                    KeychainServicesContext.$connection.withValue(connection) { call() }
                })
        }
    }
}

struct TestDatabase {
    static let groups = ["group.main", "group.shared"]

    let way: Way
    let service = InMemoryService()
    let database: KeychainDatabase

    init(_ way: Way) {
        self.way = way
        database = way.database(service, Self.groups)
    }

    func keychain(
        _ service: String = "com.example.app", group: String? = nil,
        accessibility: Keychain.Accessibility? = nil, synchronizable: Bool = false
    ) -> Keychain {
        Keychain(
            service: service, accessGroup: group, accessibility: accessibility,
            synchronizable: synchronizable, in: database)
    }
}

/// The error of an operation that has to fail.
func failure(_ body: () throws -> Void) -> KeychainError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeychainError
    }
}

struct DeviceState: Codable, Hashable, Sendable {
    enum Level: String, Codable { case enclave = "secure_enclave", unverified }
    var deviceID: String
    var level: Level
    var registeredAt: Date?
}

struct PairingCode: KeychainValue, Hashable {
    struct BadLength: Error {}
    var digits: [UInt8]

    init(digits: [UInt8]) { self.digits = digits }

    init(keychainData: Data) throws {
        guard keychainData.count == 6 else { throw BadLength() }
        digits = Array(keychainData)
    }

    var keychainData: Data {
        get throws {
            guard digits.count == 6 else { throw BadLength() }
            return Data(digits)
        }
    }
}

extension KeychainKey where Value == String {
    static var token: Self { Self("token") }
    static var pin: Self { Self("pin", label: "PIN", accessibility: .whenUnlocked) }
}

extension KeychainKey where Value == Data {
    static var blob: Self { Self("blob") }
}

extension KeychainKey where Value == DeviceState {
    static var deviceState: Self { Self("device.state") }
}

extension KeychainKey where Value == Int {
    static var counter: Self { Self("counter") }
}
