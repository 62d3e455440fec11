// GetCommand: writes a secret to standard output.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainCore

struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Writes the secret of one item to standard output.",
        discussion: """
            The secret is written exactly as it was saved. At a terminal, a newline follows a text \
            that doesn't end in one, and a secret that is not text, or contains characters that a \
            terminal interprets, is not shown without --raw. For a certificate, the secret is its \
            DER encoding; for a key, its external representation or, if the key is in hardware, \
            its sealed form.

            An item with an access control may require its application password, or the passcode \
            even if nothing is locked.
            """,
        aliases: ["show"])

    @OptionGroup var selection: SelectionOptions

    @Option(
        help: ArgumentHelp(
            "The number of an earlier version, as shown by `keychainctl history`.",
            valueName: "number"))
    var version: UInt32?

    @Flag(help: "Writes the exact bytes even to a terminal.")
    var raw = false

    @Flag(help: "Writes the attributes and the secret as JSON.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
        try selection.requireNarrowed()
    }

    var request: GetRequest {
        GetRequest(
            queries: selection.queries, version: version, raw: raw, json: json,
            passcode: application.source(with: passcode))
    }

    func run() throws {
        try request.run()
    }
}

/// The parameters of `get`.
struct GetRequest: Hashable {
    var queries: [ItemQuery]
    /// The number of an earlier version, or `nil` for the current item.
    var version: UInt32?
    var raw = false
    var json = false
    var passcode = PasscodeSource()

    func run() throws {
        guard let session = try KeychainSession(existing: passcode) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.closeIfLogIsLong() }
        ProcessProtection.beginHoldingSecrets()
        let item =
            try version.map { try session.openVersion(queries, number: $0) }
            ?? session.openOne(queries)
        if json { return try Output.print(Self.json(of: item).text) }
        guard let data = item.data else {
            throw ControlFailure(
                .failure,
                "The item has no secret, only attributes. `keychainctl info` shows them.")
        }
        let bytes = Array(data)
        guard !raw, Descriptor.isTerminal(STDOUT_FILENO) else { return try Output.write(bytes) }
        guard let text = String(validating: bytes, as: UTF8.self), Self.isFitForTerminal(text)
        else {
            throw ControlFailure(
                .failure,
                "The secret is not plain text. Use --raw to show it anyway, or redirect the output "
                    + "to a file.")
        }
        try Output.print(text)
    }

    /// Whether a terminal displays the text without interpreting any of it. Newlines and tabs are
    /// accepted.
    static func isFitForTerminal(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { !$0.isUnsafeInLine || harmless.contains($0) }
    }

    /// Newline, tab, and characters that occur within emoji and in some writing systems.
    private static let harmless: Set<Unicode.Scalar> = [
        "\n", "\t", "\u{200C}", "\u{200D}", "\u{FE0E}", "\u{FE0F}",
    ]

    /// The attributes, the secret in Base64, and the secret as text if it is UTF-8.
    static func json(of item: ItemSnapshot) -> JSON {
        var members = item.members
        if let data = item.data {
            members.append(("data", .string(data.base64EncodedString())))
            if let text = String(validating: data, as: UTF8.self) {
                members.append(("text", .string(text)))
            }
        }
        return .object(members)
    }
}
