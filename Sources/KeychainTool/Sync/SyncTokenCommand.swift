// SyncTokenCommand: makes a join token, with which one machine joins without a person.
//   (1) A token decrypts nothing, but the first machine that uses it can join with it. The token is
//       written to standard output and nowhere else.

#if Synchronization

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainSynchronization

struct SyncTokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Makes a join token, with which one machine can join without a person.",
        discussion: """
            The token is printed alone, in Base64 with - and _ (RFC 4648, section 5). It can be \
            used once, before it expires. `keychainctl sync join --token-fd` uses it; meanwhile, a \
            machine with all access groups must run `keychainctl sync run`, or synchronize later. \
            The new machine is named “token” and the first digits of its identifier; `keychainctl \
            sync members` shows it.
            """)

    @OptionGroup var groups: SyncGroupOptions

    @Option(
        help: ArgumentHelp(
            "How long the token can be used: a number and s, m, h or d. The default is 1h.",
            valueName: "duration"))
    var valid: SyncDuration?

    @OptionGroup var options: SyncOptions

    private static let standardSeconds: Int64 = 3600

    func run() throws {
        try ControlFailure.ofSynchronization {
            let sync = try SyncSession(existing: options)
            defer { sync.close() }
            let membership = try sync.membership()
            let own = membership.status.machines.first { $0.isThisOne }
            guard own?.seesAllGroups == true else {
                throw ControlFailure(
                    .denied,
                    "This machine has only some access groups, so it can't let others join.")
            }
            ProcessProtection.beginHoldingSecrets()
            let seconds = valid?.seconds ?? Self.standardSeconds
            let answer = try sync.keychain.send(
                .makeToken(groups: groups.names, expires: SyncMoment.now + seconds * 1000))
            guard let secret = answer.secret else {
                throw ControlFailure(
                    .failure, "The keychain's answer can't be read: it has another version.")
            }
            if Descriptor.isTerminal(STDOUT_FILENO) {
                Output.complain(
                    "The token is a secret until it has been used: the first machine that uses it "
                        + "can join.")
            }
            try Output.print(SyncTokenText.text(of: secret))
        }
    }
}

/// A join token as text: Base64 for URLs, without padding (RFC 4648, section 5).
enum SyncTokenText {
    static func text(of token: SecretBytes) -> String {
        String(
            Data(token.plainBytes).base64EncodedString().compactMap {
                (character: Character) -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }

    /// - Returns: `nil` if the text isn't a token.
    static func token(_ text: SecretBytes) -> JoinToken? {
        let trimmed = String(decoding: text.plainBytes, as: UTF8.self).filter { !$0.isWhitespace }
        let standard = String(
            trimmed.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 } as [Character])
        let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        guard !trimmed.contains("="), let bytes = Data(base64Encoded: standard + padding) else {
            return nil
        }
        return JoinToken(decoding: Array(bytes))
    }
}

#endif
