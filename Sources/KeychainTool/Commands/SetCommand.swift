// SetCommand: saves a secret.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

struct SetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Saves a secret.",
        discussion: """
            The secret is read from standard input, byte for byte. At a terminal, it is asked for \
            twice, without echo. Empty input is an error, unless --allow-empty is given.

            An existing item is changed in place: it keeps its reference, its creation date and \
            all attributes that are not given here. Without --group, the one matching item in any \
            group is changed; a new item goes into the first group of the entitlements, or into \
            "default".
            """)

    @OptionGroup var key: KeyOptions

    @Option(help: ArgumentHelp("The label, for display.", valueName: "text"))
    var label: String?

    @Option(help: ArgumentHelp("A comment.", valueName: "text"))
    var comment: String?

    @Option(help: ArgumentHelp("The kind of item, for display.", valueName: "text"))
    var description: String?

    @Option(
        help: ArgumentHelp(
            "When the item can be read. The default for a new item is after-first-unlock.",
            valueName: "class"))
    var accessible: AccessibilityName?

    @Flag(help: "Fails if the item already exists.")
    var new = false

    @Flag(help: "Removes one newline at the end of the secret.")
    var trimNewline = false

    @Flag(help: "Saves an empty secret if the input is empty.")
    var allowEmpty = false

    @Option(
        name: .customLong("fd"),
        help: ArgumentHelp("Reads the secret from this file descriptor.", valueName: "number"))
    var descriptor: Int32?

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    /// Catches further arguments, which are errors. Such an argument is probably a secret, so the
    /// error never repeats it.
    @Argument(help: .hidden)
    var surplus: [String] = []

    mutating func validate() throws {
        guard surplus.isEmpty, key.item == nil || !key.isNamedByOptions else {
            throw ValidationError(
                "Secrets are not accepted as arguments, where others can see them. Provide the "
                    + "secret on standard input.")
        }
        try key.requireOneName()
        guard key.namesPlace else {
            throw ValidationError("Name the item with --service or --server.")
        }
        try saving.validate()
        try InputOption.requireDistinct([
            descriptor.map { InputOption("--fd", $0) }
                ?? InputOption("The secret, without --fd,", STDIN_FILENO),
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    func run() throws {
        try KeychainPlace.connect()
        ProcessProtection.beginHoldingSecrets()
        let secret = try readSecret()
        let session = try KeychainSession(making: application.source(with: passcode))
        defer { session.close() }
        try saving.save(secret, in: session)
    }

    private var saving: ItemSaving {
        var remarks: Attributes = [:]
        remarks[.label] = label.map { .string($0) }
        remarks[.comment] = comment.map { .string($0) }
        remarks[.description] = description.map { .string($0) }
        return ItemSaving(key: key, remarks: remarks, accessible: accessible, new: new)
    }

    // MARK: The secret

    /// The maximum size of a secret, in bytes.
    private static let largestSecret = 1 << 28

    private func readSecret() throws -> Data {
        var bytes: [UInt8]
        if descriptor == nil, Descriptor.isTerminal(STDIN_FILENO), let terminal = Terminal() {
            bytes = try SecretInput.new("Secret", at: terminal).plainBytes
        } else {
            bytes = try Descriptor.readToEnd(
                of: descriptor ?? STDIN_FILENO, atMost: Self.largestSecret)
            if trimNewline, bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        }
        guard allowEmpty || !bytes.isEmpty else {
            throw ControlFailure(
                .failure,
                "The input is empty. Nothing was saved. Use --allow-empty to save an empty secret.")
        }
        return Data(bytes)
    }
}
