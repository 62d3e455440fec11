// capture: the capture app without its camera. It encrypts and signs files with the keys of this
// device.

import Capture
import Foundation
import Security

let usage = """
    usage: capture [--verbose] COMMAND
      seal FILE       encrypts FILE as FILE.sealed
      open FILE NEW   decrypts FILE as NEW
      sign FILE       signs FILE with the key in the Secure Enclave, as FILE.signature
      verify FILE     checks FILE.signature
      check-key       checks that the key in the Secure Enclave can't be extracted
      delete-key      deletes the key in the Secure Enclave, and the registration
      status          shows what is stored, and how it is protected

    """

struct Usage: Error {}

/// Writes a line without buffering, so that the line precedes later output to standard error.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

struct CommandLineProgram {
    let keychain = KeychainService()
    let device = CaptureDevice()

    func run(_ words: [String]) throws {
        switch (words.first, words.count) {
        case ("seal", 2): try seal(words[1])
        case ("open", 3): try open(words[1], as: words[2])
        case ("sign", 2): try sign(words[1])
        case ("verify", 2): try verify(words[1])
        case ("check-key", 1): try checkKey()
        case ("delete-key", 1):
            try device.deleteAttestationKey()
            say("Deleted the key and the registration.")
        case ("status", 1): try showStatus()
        default: throw Usage()
        }
    }

    private func seal(_ name: String) throws {
        try register()
        try device.seal(try read(name)).write(to: URL(filePath: name + ".sealed"), options: .atomic)
        say("Sealed \(name) as \(name).sealed.")
    }

    private func open(_ name: String, as newName: String) throws {
        try device.open(try read(name)).write(to: URL(filePath: newName), options: .atomic)
        say("Opened \(name) as \(newName).")
    }

    private func sign(_ name: String) throws {
        try register()
        let signature = try device.sign(try read(name))
        try signature.write(to: URL(filePath: name + ".signature"), options: .atomic)
        say("Signed \(name) as \(name).signature.")
    }

    private func verify(_ name: String) throws {
        let signature = try read(name + ".signature")
        guard try device.isValidSignature(signature, for: try read(name)) else {
            say("The signature of \(name) is not valid.")
            exit(1)
        }
        say("The signature of \(name) is valid.")
    }

    private func checkKey() throws {
        let name = CaptureDevice.attestationKey
        guard let key = try keychain.loadSecureEnclaveKey(forKey: name) else {
            throw KeychainError.itemNotFound
        }
        // A key object can exist without the hardware, but signing requires the hardware.
        let probe = Data(UUID().uuidString.utf8)
        let signature = try keychain.signature(for: probe, using: key)
        guard let publicKey = SecKeyCopyPublicKey(key),
            SecKeyVerifySignature(
                publicKey, .ecdsaSignatureMessageX962SHA256, probe as CFData, signature as CFData,
                nil)
        else {
            say("\(name): its signature is not valid.")
            exit(1)
        }
        guard try !keychain.isSecureEnclaveKeyExtractable(forKey: name) else {
            say("\(name): its bytes can be read.")
            exit(1)
        }
        say("\(name): in the Secure Enclave, not extractable.")
    }

    private func showStatus() throws {
        for account in KeychainService.Account.all {
            let protection = try keychain.protection(forKey: account)
            say("\(account): \(protection.map(text) ?? "absent")")
        }
        let level = try keychain.loadDeviceState()?.attestationLevel.rawValue
        say(level.map { "This device is registered: \($0)." } ?? "This device isn't registered.")
    }

    private func text(of protection: ItemProtection) -> String {
        let names = [
            kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String:
                "after first unlock, this device only",
            kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String:
                "when unlocked, this device only",
        ]
        return (names[protection.accessibility] ?? protection.accessibility)
            + (protection.isSynchronizable ? ", synchronized" : "")
    }

    private func register() throws {
        let isNew = try keychain.loadDeviceState() == nil
        let state = try device.register(model: "Linux computer", hasLidar: false)
        if isNew { say("Registered this device: \(state.attestationLevel.rawValue).") }
    }

    private func read(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: name)) }
}

var words = Array(CommandLine.arguments.dropFirst())
let isVerbose = words.first == "--verbose"
if isVerbose { words.removeFirst() }
startLog(isVerbose: isVerbose)
do {
    try CommandLineProgram().run(words)
} catch is Usage {
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
} catch {
    let recovery = (error as? any LocalizedError)?.recoverySuggestion.map { ". \($0)" } ?? ""
    FileHandle.standardError.write(
        Data("capture: \(error.localizedDescription)\(recovery)\n".utf8))
    exit(1)
}
