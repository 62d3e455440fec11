// Failures: told apart, readable, with the keychain's status; and what logs say of them.

import ExampleTesting
import Foundation
import Keychain
import KeychainCryptoKit
import KeychainTesting
import Logging
import Synchronization
import Testing

@testable import Capture

@Suite struct `Failures` {
    @Test func `saving, loading and deleting fail with a reason each and the status`() throws {
        let test = TestKeychain()
        let service = KeychainService.quiet(in: test.database)
        try service.save(Data("old".utf8), forKey: anyKey)
        test.inject(.failure(.ioError))
        let errors: [(KeychainError.Reason, KeychainError?)] = [
            (.saveFailed, failure { try service.save(Data(), forKey: anyKey) }),
            (.loadFailed, failure { _ = try service.load(forKey: anyKey) }),
            (.loadFailed, failure { _ = try service.attributes(forKey: anyKey) }),
            (.deleteFailed, failure { try service.delete(forKey: anyKey) }),
        ]
        for (reason, error) in errors {
            #expect(error?.reason == reason)
            #expect(error?.status == -36)
        }
        test.removeFaults()
        #expect(try service.load(forKey: anyKey) == Data("old".utf8))
    }

    @Test func `an unknown status is unexpected and kept`() throws {
        let test = TestKeychain()
        test.inject(.failure(.init(rawValue: -67_671)))
        let service = KeychainService.quiet(in: test.database)
        let error = try #require(failure { _ = try service.load(forKey: anyKey) })
        #expect(error.reason == .unexpectedStatus)
        #expect(error.status == -67_671)
    }

    /// Codes and operations of KeychainError, and the reasons of requirement S1.
    static let reasons: [(KeychainError, KeychainError.Reason)] = [
        (.init(.diskFull, operation: .save), .saveFailed),
        (.init(.interactionNotAllowed, operation: .load), .loadFailed),
        (.init(.decode, operation: .list), .loadFailed),
        (.init(.ioError, operation: .delete), .deleteFailed),
        (.init(.itemNotFound, operation: .load), .itemNotFound),
        (.init(.duplicateItem, operation: .save), .duplicateItem),
        (.init(.invalidData, operation: .load), .invalidData),
        (.init(.invalidKey, operation: .save), .invalidData),
        (.init(.dataConversionFailed, operation: .load), .invalidData),
        (.init(.decryptionFailed, operation: .decrypt), .invalidData),
        (.init(.encodingFailed, operation: .save), .encodingFailed),
        (.init(.decodingFailed, operation: .load), .decodingFailed),
        (.init(.secureEnclaveUnavailable, operation: .save), .secureEnclaveUnavailable),
        (.init(.init(rawValue: -1), operation: .save), .unexpectedStatus),
        (.init(.notAvailable, operation: .administer), .unexpectedStatus),
    ]

    @Test func `every reason can be told apart and has a message with its number`() {
        for (error, reason) in Self.reasons {
            #expect(error.reason == reason)
            let isReported = error.code.rawValue < 0
            #expect(error.status == (isReported ? error.code.rawValue : nil))
            let message = error.localizedDescription
            #expect(message.hasPrefix("The "))
            #expect(message.hasSuffix("(\(error.code.rawValue))."))
        }
        #expect(Set(Self.reasons.map(\.1)) == Set(KeychainError.Reason.allCases))
    }

    @Test func `a value that can't be encoded stores nothing`() throws {
        struct Opaque: Encodable & Decodable & Sendable {
            init() {}
            init(from decoder: any Decoder) throws { self.init() }
            func encode(to encoder: any Encoder) throws {
                throw CocoaError(.coderInvalidValue)
            }
        }
        let keychain = Place.memory.service().keychain
        #expect(reason { try keychain.save(Opaque(), for: anyKey) } == .encodingFailed)
        #expect(try !keychain.exists(anyKey))
    }

    @Test func `Secure Enclave keys are refused and never made in software`() throws {
        let test = TestKeychain()
        let service = KeychainService.quiet(in: test.database)
        let errors = [
            failure { _ = try service.createSecureEnclaveKey(named: "key") },
            failure { _ = try service.loadSecureEnclaveKey(named: "key") },
            failure { try service.deleteSecureEnclaveKey(named: "key") },
        ]
        for error in errors { #expect(error?.reason == .secureEnclaveUnavailable) }
        #expect(try test.items().isEmpty)
    }

    @Test(arguments: [false, true])
    func `a Secure Enclave key is made, loaded, used and deleted by its name`(
        isThroughSecItem: Bool
    ) throws {
        let test = TestKeychain()
        test.hasSecureEnclave = true
        let service = KeychainService.quiet(
            in: isThroughSecItem ? test.secItemDatabase : test.database)
        #expect(try service.loadSecureEnclaveKey(named: "key") == nil)
        let publicKey = try service.createSecureEnclaveKey(named: "key")
        let second = failure { _ = try service.createSecureEnclaveKey(named: "key") }
        #expect(second?.reason == .duplicateItem)
        try test.restart()
        let key = try #require(try service.loadSecureEnclaveKey(named: "key"))
        let capture = Data("capture".utf8)
        #expect(publicKey.isValidSignature(try key.signature(for: capture), for: capture))
        let item = try #require(try test.items().first)
        #expect(item.itemClass == "keys" && item.label == "key" && !item.isSynchronizable)
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        try service.deleteSecureEnclaveKey(named: "key")
        try service.deleteSecureEnclaveKey(named: "key")
        #expect(try service.loadSecureEnclaveKey(named: "key") == nil)
    }

    @Test func `logs name operation and key, never a value`() throws {
        let lines = Lines()
        let test = TestKeychain()
        let service = KeychainService(
            in: test.database, logger: Logger(label: "test") { _ in lines })
        let secret = "very secret text"
        let text = Data(secret.utf8)
        try service.save(text, forKey: "key.a")
        try? service.add(text, forKey: "key.a")
        _ = try service.load(forKey: "key.a")
        _ = try service.attributes(forKey: "key.a")
        try service.saveDeviceId(secret)
        try service.saveAttestationKeyId(secret)
        try service.save(text, forKey: KeychainService.Account.deviceState)
        _ = try? service.loadDeviceState()
        _ = try? service.loadSymmetricKey(forKey: "key.a")
        _ = try? service.createSecureEnclaveKey(named: "key.e")
        _ = try? service.perform("carry", "key.o") { throw CocoaError(.fileNoSuchFile) }
        try service.delete(forKey: "key.a")
        #expect(
            lines.all == [
                "debug save key.a",
                "error add key.a: KeychainError: save: duplicateItem (-25299)",
                "debug load key.a",
                "debug read attributes of key.a",
                "debug save rial.device.id",
                "debug save rial.attestation.keyId",
                "debug save rial.device.state",
                "error load rial.device.state: KeychainError: load: decodingFailed (3)",
                "error load key.a: KeychainError: load: invalidData (1)",
                "error create key.e: KeychainError: save: secureEnclaveUnavailable (5)",
                "error carry key.o: CocoaError",
                "debug delete key.a",
            ])
        #expect(lines.all.allSatisfy { !$0.contains(secret) })
    }
}

/// A log that remembers.
final class Lines: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let metadata = event.metadata.map { " \($0)" } ?? ""
        lines.withLock { $0.append("\(event.level) \(event.message)\(metadata)") }
    }
}
