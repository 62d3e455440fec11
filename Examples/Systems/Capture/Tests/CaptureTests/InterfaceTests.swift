// InterfaceTests: examines the source code. For example, only `CryptoService` and `KeychainService`
// may handle the bytes of keys.

import ExampleTesting
import Foundation
import Testing

@Suite struct `Interface` {
    /// The texts of a target's Swift files, by file name.
    private func sources(_ target: String) throws -> [String: String] {
        let sources = folder(ofSystem: "Capture").appending(path: "Sources/\(target)")
        let names = try FileManager.default.contentsOfDirectory(atPath: sources.path)
        var texts: [String: String] = [:]
        for name in names where name.hasSuffix(".swift") {
            texts[name] = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
        }
        try #require(texts.count >= 2)
        return texts
    }

    /// The texts of the Swift files of the library and the program, by file name.
    private func allSources() throws -> [String: String] {
        try sources("Capture").merging(sources("capture-app")) { $1 }
    }

    /// The declarations that begin with `public`, each joined into one line.
    private func publicDeclarations(_ text: String) -> [String] {
        var declarations: [String] = []
        var current: String?
        for line in text.split(separator: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("public ") { current = "" }
            guard let begun = current else { continue }
            let whole = begun.isEmpty ? line : "\(begun) \(line)"
            let isOpen = whole.count { $0 == "(" } > whole.count { $0 == ")" }
            current = isOpen ? whole : nil
            if !isOpen { declarations.append(whole) }
        }
        return declarations
    }

    @Test func `only the known public declarations use key types or return bytes`() throws {
        var found: Set<String> = []
        for (file, text) in try sources("Capture") {
            for declaration in publicDeclarations(text) {
                let words = declaration.split { !$0.isLetter && !$0.isNumber }
                guard
                    words.contains("SymmetricKey") || words.contains("SecKey")
                        || words.last == "Data" || words.contains("Bytes")
                        || declaration.contains("-> Data") || declaration.contains("[UInt8]")
                else { continue }
                let name = declaration.split(separator: "(").first ?? ""
                found.insert("\(file): \(name)")
            }
        }
        #expect(
            found == [
                // These methods return a ciphertext, the plaintext of a capture, and a signature.
                "CaptureDevice.swift: public func seal",
                "CaptureDevice.swift: public func open",
                "CaptureDevice+Attestation.swift: public func sign",
                // These methods belong to the two services.
                "CryptoService.swift: public static func generateKey",
                "CryptoService.swift: public static func encrypt",
                "CryptoService.swift: public static func decrypt",
                "CryptoService.swift: public static func keyToData",
                "CryptoService.swift: public static func keyFromData",
                "KeychainService.swift: public func load",
                "KeychainService+Values.swift: public func saveSymmetricKey",
                "KeychainService+Values.swift: public func loadSymmetricKey",
                "KeychainService+SecureEnclave.swift: public func createSecureEnclaveKey",
                "KeychainService+SecureEnclave.swift: public func loadSecureEnclaveKey",
                "KeychainService+SecureEnclave.swift: public func signature",
                "KeychainService+SecureEnclave.swift: public func publicKeyData",
            ])
    }

    @Test func `only CryptoService and KeychainService handle the bytes of keys`() throws {
        let calls = [
            "keyToData(", "keyFromData(", ".withUnsafeBytes", " SymmetricKey(",
            "SecKeyCopyExternalRepresentation(", "SecItemExport(", "kSecReturnData",
            "SecItemCopyMatching(", "rawRepresentation", "dataRepresentation",
            "x963Representation", ".load(forKey:",
        ]
        var count = 0
        for (file, text) in try allSources() {
            let isService = file.hasPrefix("CryptoService") || file.hasPrefix("KeychainService")
            for call in calls where text.contains(call) {
                count += 1
                #expect(isService, "\(file) has \(call)")
            }
        }
        #expect(count > 0)
    }

    @Test func `the sources never encrypt, decrypt or agree on a secret with a SecKey`() throws {
        for (file, text) in try allSources() {
            for call in [
                "SecKeyCreateEncryptedData", "SecKeyCreateDecryptedData",
                "SecKeyCopyKeyExchangeResult", "SecKeyEncrypt", "SecKeyDecrypt",
            ] {
                #expect(!text.contains(call), "\(file) has \(call)")
            }
        }
    }

    @Test func `the subsystem and category of the log are separate arguments`() throws {
        let text = try #require(try sources("Capture")["Logger+Capture.swift"])
        #expect(text.contains(#"Logger(subsystem: "app.rial", category: "keychain")"#))
    }

    @Test func `the update function is private and takes data and a key`() throws {
        let text = try #require(try sources("Capture")["KeychainService.swift"])
        #expect(
            text.contains("    private func update(_ data: Data, forKey key: String) throws {"))
        #expect(text.contains("\npublic final class KeychainService"))
    }
}
