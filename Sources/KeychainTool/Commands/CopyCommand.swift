// CopyCommand: puts a secret into the clipboard for a limited time.

import ArgumentParser
import FoundationEssentials
import KeychainCore
import KeychainCrypto

struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Puts the secret of an item into the clipboard for a limited time.",
        discussion: """
            Requires wl-copy and wl-paste (wl-clipboard) with Wayland, xclip or xsel with X11. \
            After the time of --for, the clipboard is cleared if it still contains the secret. \
            Newlines at the end of the secret are removed. Every program of the session can read \
            the clipboard, and a clipboard manager may keep what it has read.
            """)

    @OptionGroup var selection: SelectionOptions

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long the secret stays in the clipboard, 1 to 3600 seconds.", valueName: "seconds"))
    var seconds = 45

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        try selection.requireNarrowed()
        guard (1...3600).contains(seconds) else {
            throw ValidationError("The value of --for must be 1 to 3600 seconds.")
        }
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    func run() throws {
        try ControlFailure.refuseRightsOfOthers()
        let clipboard = try Clipboard(ProcessEnvironment.variables)
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.closeIfLogIsLong() }
        ProcessProtection.beginHoldingSecrets()
        guard let data = try session.openOne(selection.queries).data else {
            throw ControlFailure(.failure, "The item has no secret, only attributes.")
        }
        var bytes = Array(data)
        while let last = bytes.last, [0x0A, 0x0D].contains(last) { bytes.removeLast() }
        guard !bytes.isEmpty, String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0)
        else {
            throw ControlFailure(.failure, "The secret is empty or not text. Nothing was copied.")
        }
        Descriptor.closeInheritedOnExec()
        try clipboard.hold(bytes, for: seconds)
        try Output.print("Copied to the clipboard for \(counted(seconds, "second")).")
    }
}
