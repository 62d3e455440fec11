// ChipTests: runs the program with a key in a TPM (swtpm). One process creates the key, and later
// processes use it.

import ExampleTesting
import Foundation
import Testing

extension Home {
    /// Makes programs use a chip. Messages of the TPM library are turned off, because some tests
    /// cause failures.
    func use(_ chip: Chip) {
        environment["KEYCHAIN_TPM"] = chip.configuration
        environment["TSS2_LOG"] = "all+NONE"
    }
}

@Suite struct `Key in a chip` {
    private let home: Home
    private let chip: Chip

    init() throws {
        home = try Home.ofCapture()
        chip = try Chip(in: home.url.appending(path: "chip"))
        home.use(chip)
    }

    @Test func `the program prints the session of the README`() throws {
        try Session(readmeOf: "Capture").check(in: home)
    }

    @Test func `with a TPM the device is registered once, attested by a key in the TPM`() throws {
        #expect(
            try home.run("capture seal photo.jpg") == """
                Registered this device: secure_enclave.
                Sealed photo.jpg as photo.jpg.sealed.

                """)
        let status = try home.run("capture status")
        #expect(status.contains("rial.attestation.keyId: after first unlock, this device only"))
        // The key and the state exist, so nothing is registered again.
        #expect(
            try home.run("capture seal photo.jpg") == "Sealed photo.jpg as photo.jpg.sealed.\n")
        let state = String(
            decoding: try home.secret(forKey: "rial.device.state"), as: UTF8.self)
        let identifier = String(
            decoding: try home.secret(forKey: "rial.attestation.keyId"), as: UTF8.self)
        #expect(state.contains(#""attestationLevel":"secure_enclave""#))
        #expect(
            state.replacing(#"\/"#, with: "/").contains(#""attestationKeyId":"\#(identifier)""#))
    }

    @Test func `later runs sign with the same key until a run deletes the key`() throws {
        _ = try home.run("capture sign photo.jpg")
        let first = try home.file("photo.jpg.signature")
        #expect(
            try home.run("capture sign photo.jpg") == "Signed photo.jpg as photo.jpg.signature.\n")
        let second = try home.file("photo.jpg.signature")
        // ECDSA uses a different random number for each signature.
        #expect(first != second)
        let isValid = "The signature of photo.jpg is valid.\n"
        #expect(try home.run("capture verify photo.jpg") == isValid)
        try first.write(to: home.url.appending(path: "photo.jpg.signature"))
        #expect(try home.run("capture verify photo.jpg") == isValid)

        #expect(
            try home.run("capture delete-key") == "Deleted the key and the registration.\n")
        #expect(
            try home.run("capture verify photo.jpg")
                .hasPrefix("capture: Keychain item not found"))
        #expect(
            try home.run("capture delete-key") == "Deleted the key and the registration.\n")
        // The next command creates another key, which doesn't verify the deleted key's signatures.
        #expect(
            try home.run("cp photo.jpg other.jpg; capture sign other.jpg").hasPrefix("Registered"))
        #expect(
            try home.run("capture verify photo.jpg")
                == "The signature of photo.jpg is not valid.\n[1]\n")
        #expect(
            try home.run("capture verify other.jpg")
                == "The signature of other.jpg is valid.\n")
    }

    @Test func `the private key can't be extracted from the chip`() throws {
        _ = try home.run("capture sign photo.jpg")
        #expect(
            try home.run("capture check-key")
                == "rial.attestation.key: in the Secure Enclave, not extractable.\n")
    }

    @Test func `without the chip, the key isn't reported as being in the Secure Enclave`() throws {
        _ = try home.run("capture sign photo.jpg")
        let output = try home.run("KEYCHAIN_TPM=none capture check-key")
        // Items that are restricted to this device are bound to its chip, so they can't be read
        // either.
        #expect(output.hasPrefix("capture: Failed to load item from Keychain (status: -25291)"))
        #expect(output.hasSuffix("[1]\n"))
        #expect(!output.contains("not extractable"))
        #expect(try home.run("capture check-key").hasSuffix("not extractable.\n"))
    }

    @Test func `a copy of the whole keychain can't sign with another chip`() throws {
        _ = try home.run("capture sign photo.jpg")
        let other = try Home.ofCapture()
        let otherChip = try Chip(in: other.url.appending(path: "chip"))
        other.use(otherChip)
        _ = try other.run(
            "mkdir -p .local/share && cp -a \(home.keychain.path) .local/share/keychain")
        let output = try other.run("capture sign photo.jpg")
        #expect(output.hasPrefix("capture: Failed to load item from Keychain (status: -25291)"))
        #expect(output.hasSuffix("[1]\n"))
        #expect(try home.run("capture sign photo.jpg").hasPrefix("Signed"))
    }

    @Test func `without the chip, signing fails and the key is kept`() throws {
        _ = try home.run("capture sign photo.jpg")
        #expect(
            try home.run("KEYCHAIN_TPM=none capture sign photo.jpg")
                .hasPrefix("capture: Failed to load item from Keychain (status: -25291)"))
        #expect(try home.run("capture verify photo.jpg").hasSuffix("is valid.\n"))
        #expect(try home.run("capture sign photo.jpg").hasPrefix("Signed"))
    }

    @Test func `processes that register at the same time use the same key`() throws {
        let output = try home.run(
            """
            for i in 1 2 3; do cp photo.jpg $i; capture sign $i >/dev/null & done; wait
            for i in 1 2 3; do capture verify $i; done
            """)
        #expect(output == (1...3).map { "The signature of \($0) is valid.\n" }.joined())
    }

    @Test func `the commands neither print the encryption key nor write it outside the keychain`()
        throws
    {
        let commands = [
            "seal photo.jpg", "open photo.jpg.sealed copy.jpg", "sign photo.jpg",
            "verify photo.jpg", "check-key", "status",
        ]
        var output = ""
        for command in commands { output += try home.run("capture --verbose \(command)") }
        #expect(output.count { $0 == "\n" } > commands.count)
        let key = try home.secret(forKey: "rial.encryption.key")
        let hexadecimal = key.map { String(format: "%02x", $0) }.joined()
        let forms = [
            key, Data(hexadecimal.utf8), Data(hexadecimal.uppercased().utf8),
            Data(key.base64EncodedString().utf8),
        ]
        var texts = [Data(output.utf8)]
        // All files in the home directory except those of the keychain, the programs and the chip.
        var files: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: home.url.path) {
            let isLeftOut = [".local/share/keychain", "bin", "chip"].contains {
                name == $0 || name.hasPrefix("\($0)/")
            }
            var isFolder: ObjCBool = false
            let path = home.url.appending(path: name).path
            guard !isLeftOut,
                FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
                !isFolder.boolValue
            else { continue }
            texts.append(try home.file(name))
            files.insert(name)
        }
        #expect(files.isSuperset(of: ["photo.jpg.sealed", "copy.jpg", "photo.jpg.signature"]))
        for text in texts {
            for form in forms { #expect(text.range(of: form) == nil) }
        }
        // The commands above are all the program's commands, except `delete-key`.
        let usage = try home.run("capture")
        let names = usage.split(separator: "\n").compactMap { line in
            line.hasPrefix("  ") ? line.split(separator: " ").first.map(String.init) : nil
        }
        let run = commands.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(Set(names) == Set(run + ["delete-key"]))
    }
}
