// ProgramTests: runs the program repeatedly with the same keychain, on a machine without a TPM.

import Capture
import ExampleTesting
import Foundation
import Testing

extension Home {
    /// A home directory with the program, its entitlements, `keychainctl` and a photo.
    static func ofCapture(photo: Data = samplePhoto) throws -> Home {
        let home = try Home(
            ["capture", "keychainctl"],
            entitlements: [
                "capture": folder(ofSystem: "Capture").appending(path: "capture.entitlements")
            ])
        try photo.write(to: home.url.appending(path: "photo.jpg"))
        return home
    }

    /// The bytes of a file in the home directory.
    func file(_ name: String) throws -> Data {
        try Data(contentsOf: url.appending(path: name))
    }

    /// The secret of one of the app's items, read with `keychainctl`.
    func secret(forKey key: String) throws -> Data {
        let output = try run(
            "keychainctl get --service app.rial.keychain --account \(key) > secret")
        try #require(output == "")
        defer { try? FileManager.default.removeItem(at: url.appending(path: "secret")) }
        return try file("secret")
    }
}

let samplePhoto = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

@Suite struct `Capture program` {
    private let home: Home

    init() throws { home = try Home.ofCapture() }

    @Test func `without a TPM the device is unverified, and nothing is signed`() throws {
        #expect(
            try home.run("capture sign photo.jpg") == """
                Registered this device: unverified.
                capture: Secure Enclave is not available on this device. Go on without a hardware \
                key, or use a device that has a Secure Enclave.
                [1]

                """)
        #expect(
            try home.run("capture check-key") == """
                capture: Keychain item not found. This is normal at first access: nothing was \
                saved yet. Save the item.
                [1]

                """)
        #expect(try home.run("capture seal photo.jpg") == "Sealed photo.jpg as photo.jpg.sealed.\n")
        let files = try FileManager.default.contentsOfDirectory(atPath: home.url.path)
        #expect(!files.contains("photo.jpg.signature"))
    }

    @Test func `a second process decrypts what the first process encrypted`() throws {
        let first = try home.run("capture seal photo.jpg && rm photo.jpg")
        #expect(!first.contains("["))
        #expect(try home.file("photo.jpg.sealed").count == samplePhoto.count + 28)
        #expect(
            try home.run("capture open photo.jpg.sealed copy.jpg")
                == "Opened photo.jpg.sealed as copy.jpg.\n")
        #expect(try home.file("copy.jpg") == samplePhoto)
    }

    @Test func `the keychain's files contain keys, identifiers and names only in encrypted form`()
        throws
    {
        _ = try home.run("capture seal photo.jpg")
        let key = try home.secret(forKey: "rial.encryption.key")
        #expect(key.count == 32)
        for text in [
            key, Data("rial.encryption.key".utf8), Data("app.rial.keychain".utf8),
            try home.secret(forKey: "rial.device.id"),
        ] {
            #expect(try !home.keychainFilesContain(text))
        }
    }

    @Test func `processes that race for the first use get the same identifier and key`() throws {
        let output = try home.run(
            """
            for i in 1 2 3 4; do cp photo.jpg $i; capture seal $i >/dev/null & done; wait
            for i in 1 2 3 4; do capture open $i.sealed copy$i && cmp photo.jpg copy$i; done
            """)
        #expect(output == (1...4).map { "Opened \($0).sealed as copy\($0).\n" }.joined())
        let state = try home.secret(forKey: "rial.device.state")
        let identifier = try home.secret(forKey: "rial.device.id")
        #expect(UUID(uuidString: String(decoding: identifier, as: UTF8.self)) != nil)
        #expect(state.range(of: identifier) != nil)
    }

    @Test func `the items are in the access group of the program's entitlements`() throws {
        _ = try home.run("capture seal photo.jpg")
        let info = try home.run(
            "keychainctl info --service app.rial.keychain --account rial.device.id")
        #expect(info.contains("ABCDE12345.app.rial\n"))
        // With the entitlements of another team, the same program doesn't find the items.
        let path = home.url.appending(path: "bin/capture.entitlements")
        let list = try String(contentsOf: path, encoding: .utf8)
        try list.replacing("ABCDE12345", with: "OTHER12345").write(
            to: path, atomically: true, encoding: .utf8)
        #expect(try home.run("capture status").hasSuffix("This device isn't registered.\n"))
    }

    @Test func `a copy of the keychain's files can't be opened with another device's key`() throws {
        _ = try home.run("capture seal photo.jpg")
        let other = try Home.ofCapture()
        _ = try other.run("capture seal photo.jpg")
        // Replace the files of the other device's keychain, except its device.key, by those of the
        // first device.
        _ = try other.run(
            "cp .local/share/keychain/device.key . && rm .local/share/keychain/* && "
                + "cp \(home.keychain.path)/* .local/share/keychain && "
                + "cp device.key .local/share/keychain")
        try home.file("photo.jpg.sealed").write(
            to: other.url.appending(path: "photo.jpg.sealed"))
        let output = try other.run("capture open photo.jpg.sealed copy.jpg")
        #expect(output.hasPrefix("capture: Failed to load item from Keychain (status: "))
        #expect(output.hasSuffix("[1]\n"))
        #expect(try home.run("capture open photo.jpg.sealed copy.jpg").hasPrefix("Opened"))
    }

    @Test func `before the first unlock the program reports the lock and replaces nothing`() throws
    {
        _ = try home.run("capture seal photo.jpg")
        let state = try home.secret(forKey: "rial.device.state")
        _ = try home.run("printf 1234 | keychainctl passcode set --weak --fd 0")
        let locked = """
            capture: Failed to load item from Keychain (status: -25308). Wait until the device is \
            unlocked and try again; the item is still there.
            [1]

            """
        for command in ["seal photo.jpg", "open photo.jpg.sealed copy.jpg"] {
            #expect(try home.run("capture \(command)") == locked)
        }
        // While the keychain is locked, the program can't distinguish absent and locked items.
        #expect(try home.run("capture status") == locked)
        _ = try home.run("printf 1234 | keychainctl passcode remove --yes --passcode-fd 0")
        #expect(try home.run("capture open photo.jpg.sealed copy.jpg").hasPrefix("Opened"))
        #expect(try home.secret(forKey: "rial.device.state") == state)
    }

    @Test func `a verbose run logs operations and the accounts of items, but no values`() throws {
        _ = try home.run("capture seal photo.jpg")
        let output = try home.run("capture --verbose seal photo.jpg")
        #expect(output.contains("app.rial.keychain"))
        #expect(output.contains("load rial.device.state"))
        #expect(output.contains("load or add rial.encryption.key"))
        let identifier = try home.secret(forKey: "rial.device.id")
        #expect(!output.contains(String(decoding: identifier, as: UTF8.self)))
        #expect(!(try home.run("capture seal photo.jpg").contains("load")))
    }

    @Test func `without a stored key no capture is opened, and no key is made`() throws {
        try Data(repeating: 0, count: 40).write(to: home.url.appending(path: "other.sealed"))
        #expect(
            try home.run("capture open other.sealed copy") == """
                capture: The encryption key was not found on this device. Open the capture on the \
                device that sealed it; keys are not copied to other devices.
                [1]

                """)
        #expect(!FileManager.default.fileExists(atPath: home.url.appending(path: "copy").path))
        #expect(try home.run("capture status").contains("rial.encryption.key: absent"))
    }

    @Test func `wrong usage is reported`() throws {
        for command in [
            "", "seal", "open one", "status now", "sign", "verify", "check-key x",
            "delete-key x", "export", "--verbose",
        ] {
            let output = try home.run("capture \(command)")
            #expect(output.hasPrefix("usage: capture") && output.hasSuffix("[64]\n"), "\(command)")
        }
    }
}
