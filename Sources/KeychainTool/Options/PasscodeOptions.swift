// PasscodeOptions: the sources of the passcode and of application passwords, and how they are read.

import ArgumentParser
import Glibc
import KeychainCrypto
import KeychainCore

struct PasscodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Reads the passcode from this file descriptor if it is required. One newline at its "
                + "end is removed.",
            valueName: "number"))
    var passcodeFd: Int32?

    @Flag(help: "Never prompts at the terminal.")
    var noPrompt = false

    var source: PasscodeSource {
        PasscodeSource(descriptor: passcodeFd, mayAsk: !noPrompt)
    }
}

/// The option for items that require an application password.
struct ApplicationPasswordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Reads the application password from this file descriptor if the item requires one. "
                + "One newline at its end is removed.",
            valueName: "number"))
    var applicationPasswordFd: Int32?

    /// The sources of both the passcode and the application password.
    func source(with passcode: PasscodeOptions) -> PasscodeSource {
        var source = passcode.source
        source.passwordDescriptor = applicationPasswordFd
        return source
    }
}

/// The sources of a passcode and of an application password.
struct PasscodeSource: Hashable {
    var descriptor: Int32?
    var passwordDescriptor: Int32?
    /// Whether the user may be prompted at the terminal.
    var mayAsk = true

    /// Whether the user can enter another application password if one was wrong.
    var asksForPassword: Bool { passwordDescriptor == nil && mayAsk }

    /// The passcode, from the descriptor or the terminal, or `nil` if neither is available or the
    /// user ends the input.
    func read() throws(ControlFailure) -> SecretBytes? {
        if let descriptor { return try SecretInput.passcode(from: descriptor) }
        guard mayAsk, let terminal = Terminal() else { return nil }
        return terminal.askHidden("Passcode of the keychain: ")
    }
}

/// Reads secrets from a descriptor or the terminal.
enum SecretInput {
    /// Reads a passcode from a descriptor, and removes one newline at its end.
    static func passcode(from descriptor: Int32) throws(ControlFailure) -> SecretBytes {
        try fromDescriptor(descriptor, "passcode")
    }

    /// Reads a secret from a descriptor, and removes one newline at its end.
    static func fromDescriptor(
        _ descriptor: Int32, _ what: String
    ) throws(ControlFailure) -> SecretBytes {
        let bytes = try wholeInput(of: descriptor, what)
        let newline = SecretBytes(copying: [UInt8(ascii: "\n")])
        guard bytes.count > 0,
            bytes.slice(bytes.count - 1..<bytes.count).isEqual(to: newline)
        else { return bytes }
        return bytes.slice(0..<bytes.count - 1)
    }

    /// Reads a secret from a descriptor, byte for byte.
    static func wholeInput(
        of descriptor: Int32, _ what: String
    ) throws(ControlFailure) -> SecretBytes {
        ProcessProtection.beginHoldingSecrets()
        guard Descriptor.isInherited(descriptor),
            let bytes = try? SecretBytes(readingFrom: descriptor, atMost: Terminal.longestInput)
        else {
            throw ControlFailure(
                .failure,
                "Can't read the \(what) from descriptor \(descriptor): \(errorText(errno)). Use a "
                    + "descriptor that is open for reading.")
        }
        return bytes
    }

    /// Asks for a new secret twice. If the entries differ, asks again, at most three times in all.
    static func new(_ what: String, at terminal: borrowing Terminal) throws(ControlFailure)
        -> SecretBytes
    {
        for attempt in 1...3 {
            guard let first = terminal.askHidden("\(what): "),
                let second = terminal.askHidden("\(what) again: ")
            else {
                throw ControlFailure(
                    .failure, "The input ended without an answer. Nothing was changed.")
            }
            if first.isEqual(to: second) { return first }
            if attempt < 3 { terminal.show("The entries don't match. Try again.\n") }
        }
        throw ControlFailure(
            .failure, "The entries didn't match three times. Nothing was changed.")
    }
}
