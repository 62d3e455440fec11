// WayInOptions: the passcode, recovery code or credential that unlocks the keychain or authorizes a
// change of its protection.

import ArgumentParser
import KeychainCrypto
import KeychainCore

struct WayInOptions: ParsableArguments {
    @Option(
        name: .customLong("passcode-fd"),
        help: ArgumentHelp(
            "Reads the current passcode from this file descriptor.", valueName: "number"))
    var descriptor: Int32?

    @Flag(help: "Uses the recovery code instead of the passcode.")
    var recoveryCode = false

    @Option(
        help: ArgumentHelp(
            "Reads the recovery code from this file descriptor.", valueName: "number"))
    var recoveryCodeFd: Int32?

    @Flag(help: "Instead of the passcode, uses the credential that systemd passed to this process.")
    var credential = false

    /// Whether the way in is a recovery code or a credential rather than the passcode.
    var isOther: Bool { recoveryCode || recoveryCodeFd != nil || credential }

    mutating func validate() throws {
        let count = [descriptor != nil, recoveryCode || recoveryCodeFd != nil, credential]
            .count { $0 }
        guard count <= 1 else {
            throw ValidationError(
                "Provide only one of the passcode, the recovery code and the credential.")
        }
    }

    /// Reads the way in that the options select, which is the passcode by default. `mayAsk`:
    /// whether the user may be prompted at the terminal.
    ///
    /// - Returns: `nil` if no option was given and no passcode is set.
    func read(hasPasscode: Bool, mayAsk: Bool = true) throws -> WayIn? {
        if recoveryCode || recoveryCodeFd != nil {
            let typed = try Self.typed("Recovery code", from: recoveryCodeFd, mayAsk)
            return .recoveryCode(try RecoveryCode(words: typed).bytes)
        }
        if credential { return .credential(try Self.givenCredential(nil)) }
        guard hasPasscode || descriptor != nil else { return nil }
        return .passcode(try Self.typed("Current passcode", from: descriptor, mayAsk))
    }

    private static func typed(
        _ what: String, from descriptor: Int32?, _ mayAsk: Bool
    ) throws -> SecretBytes {
        let name = what.lowercased()
        if let descriptor { return try SecretInput.fromDescriptor(descriptor, name) }
        guard mayAsk, let terminal = Terminal() else {
            throw ControlFailure(
                .locked,
                (mayAsk ? "There is no terminal for a prompt. " : "")
                    + "Provide the \(name) through a file descriptor: see --help.")
        }
        guard let entered = terminal.askHidden("\(what): ") else {
            throw ControlFailure(.locked, "The input ended without an answer. Nothing was changed.")
        }
        return entered
    }

    /// Reads the credential with the given name. `nil` stands for the name in the environment
    /// variable `ServiceCredential.variable` or, if that is not set,
    /// `ServiceCredential.standardName`.
    static func givenCredential(_ name: String?) throws -> SecretBytes {
        ProcessProtection.beginHoldingSecrets()
        guard let credential = ServiceCredential.read(name) else {
            throw ControlFailure(
                .failure,
                "systemd didn't pass the credential to this process. Set "
                    + "`LoadCredentialEncrypted=` in its unit.")
        }
        return credential
    }
}
