// LogTests: the log names operations and the keys of items, and never contains a value.

import CryptoKit
import Foundation
import Logging
import Synchronization
import Testing

@testable import Capture

@Suite(.freshKeychain) struct `Log` {
    @Test func `the logger's label is the app's subsystem and category`() {
        #expect(KeychainService().logger.label == "app.rial.keychain")
    }

    @Test func `the log names operations and keys, never a value`() throws {
        let lines = Lines()
        let service = KeychainService(logger: Logger(label: "test") { _ in lines })
        let device = CaptureDevice(keychain: service)
        let secret = "very secret text"
        let text = Data(secret.utf8)
        try service.save(text, forKey: "key.a")
        try? service.add(text, forKey: "key.a")
        _ = try service.load(forKey: "key.a")
        _ = try service.load(forKey: "key.absent")
        _ = try service.protection(forKey: "key.a")
        try service.saveDeviceId(secret)
        try service.saveAttestationKeyId(secret)
        _ = try service.loadDeviceId()
        try service.save(text, forKey: KeychainService.Account.deviceState)
        _ = try? service.loadDeviceState()
        _ = try? service.loadSymmetricKey(forKey: "key.a")
        _ = try? service.createSecureEnclaveKey(forKey: "key.e")
        _ = try service.loadSecureEnclaveKey(forKey: "key.e")
        try service.deleteSecureEnclaveKey(forKey: "key.e")
        _ = try? service.logger.log("carry", "key.o") {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: secret])
        }
        try service.delete(forKey: "key.a")
        _ = try device.seal(text)
        _ = try? device.sign(text)
        #expect(
            lines.all == [
                "debug save key.a",
                "error add key.a: Keychain item already exists",
                "debug load key.a",
                "debug load key.absent",
                "debug read attributes of key.a",
                "debug save rial.device.id",
                "debug save rial.attestation.keyId",
                "debug load rial.device.id",
                "debug save rial.device.state",
                "error load rial.device.state: Failed to decode data from Keychain",
                "error load key.a: Keychain data is invalid or corrupted",
                "error create key key.e: Secure Enclave is not available on this device",
                "debug load key key.e",
                "debug delete key key.e",
                "error carry key.o: CocoaError",
                "debug delete key.a",
                "debug load or add rial.encryption.key",
                "error load rial.device.state: Failed to decode data from Keychain",
                "error sign with rial.attestation.key: Failed to decode data from Keychain",
            ])
        #expect(lines.all.allSatisfy { !$0.contains(secret) })
    }
}

/// A log handler that records the lines.
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
