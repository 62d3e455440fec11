// The program: one process after the other with the same keychain.

import ExampleTesting
import Foundation
import Keychain
import Testing

@testable import Capture

@Suite struct `Capture program` {
    /// What `capture.entitlements` says.
    static let group = "ABCDE12345.app.rial.capture"

    let home: Home
    let photo = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    init() throws {
        home = try Home(["capture", "keychainctl"])
        try photo.write(to: home.url.appending(path: "photo.jpg"))
    }

    /// The program's keychain, as a program with this group sees it.
    private func service(group: String) -> KeychainService {
        .quiet(in: KeychainDatabase(directory: home.keychain, accessGroups: [group]))
    }

    @Test func `the session of the README is what the program prints`() throws {
        try Session("Capture", in: packageDirectory.appending(path: "README.md")).check(in: home)
    }

    @Test func `with a TPM the device is attested by a key in it, for every process`() throws {
        let chip = try Chip(in: home.url.appending(path: "chip"))
        home.environment["KEYCHAIN_TPM"] = chip.configuration
        #expect(
            try home.run("capture seal photo.jpg") == """
                Registered this device: secure_enclave.
                Sealed photo.jpg as photo.jpg.sealed.

                """)
        let status = try home.run("capture status")
        #expect(status.contains("rial.attestation.keyId: afterFirstUnlockThisDeviceOnly"))
        // The key is there and the state too, so nothing is registered again.
        #expect(
            try home.run("capture seal photo.jpg") == "Sealed photo.jpg as photo.jpg.sealed.\n")
        let service = service(group: Self.group)
        #expect(try service.loadDeviceState()?.attestationLevel == .secureEnclave)
    }

    @Test func `a second process decrypts what a first has encrypted`() throws {
        let first = try home.run("capture seal photo.jpg && rm photo.jpg")
        #expect(!first.contains("["))
        let sealed = try Data(contentsOf: home.url.appending(path: "photo.jpg.sealed"))
        #expect(sealed.count == photo.count + 28)
        #expect(try !home.keychainFilesContain(Data("rial.device.id".utf8)))
        _ = try home.run("capture open photo.jpg.sealed copy.jpg")
        #expect(try Data(contentsOf: home.url.appending(path: "copy.jpg")) == photo)
    }

    @Test func `processes that are the first at once get one identifier and one key`() throws {
        let output = try home.run(
            """
            for i in 1 2 3 4; do cp photo.jpg $i; capture seal $i >/dev/null & done; wait
            for i in 1 2 3 4; do capture open $i.sealed copy$i && cmp photo.jpg copy$i; done
            """)
        #expect(output == (1...4).map { "Opened \($0).sealed as copy\($0).\n" }.joined())
        let service = service(group: Self.group)
        #expect(try service.loadDeviceState()?.deviceId == service.loadDeviceId())
    }

    @Test func `this process finds what the program has saved`() throws {
        _ = try home.run("capture seal photo.jpg")
        let service = service(group: Self.group)
        let state = try #require(try service.loadDeviceState())
        #expect(state.deviceId == (try service.loadDeviceId()))
        #expect(state.attestationLevel == .unverified)
        let sealed = try Data(contentsOf: home.url.appending(path: "photo.jpg.sealed"))
        #expect(try CaptureDevice(keychain: service).open(sealed) == photo)
    }

    @Test func `the items are in the group of the program's entitlements`() throws {
        _ = try home.run("capture seal photo.jpg")
        #expect(try service(group: Self.group).loadDeviceState() != nil)
        #expect(try service(group: "default").loadDeviceState() == nil)
    }

    @Test func `a verbose run shows operations and keys, and no value`() throws {
        _ = try home.run("capture seal photo.jpg")
        let output = try home.run("capture --verbose seal photo.jpg")
        #expect(output.contains("load rial.device.state"))
        #expect(output.contains("load or add rial.encryption.key"))
        let service = service(group: Self.group)
        #expect(!output.contains(try #require(try service.loadDeviceId())))
        let key = try #require(try service.load(forKey: "rial.encryption.key"))
        #expect(!output.contains(key.base64EncodedString()))
    }

    @Test func `without a key nothing is opened, and nothing is made`() throws {
        try Data(repeating: 0, count: 40).write(to: home.url.appending(path: "other.sealed"))
        #expect(
            try home.run("capture open other.sealed copy") == """
                capture: The secret could not be loaded: there is no such item (-25300).
                [1]

                """)
        #expect(!FileManager.default.fileExists(atPath: home.url.appending(path: "copy").path))
    }

    @Test func `wrong usage is told`() throws {
        for command in ["capture", "capture seal", "capture open one", "capture status now"] {
            let output = try home.run(command)
            #expect(output.hasPrefix("usage: capture") && output.hasSuffix("[64]\n"))
        }
    }
}
