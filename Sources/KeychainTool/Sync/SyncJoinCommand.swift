// SyncJoinCommand: joins a circle, in one of four ways.
//   (1) With digits or codes, the machine joins only after a person has compared the digits or
//       pasted the codes.
//   (2) Each attempt makes new keys for this machine, unless it joins with a token or the recovery
//       code. So what a server did with the keys of an earlier attempt has no effect.

#if Synchronization

import ArgumentParser
import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization

struct SyncJoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Joins a circle: with approval, a join token or the recovery code.",
        discussion: """
            This machine asks to join, and `keychainctl sync approve` on a machine of the circle \
            answers. Both show six digits, which must be the same. With --paste, each machine \
            shows a code instead, which is pasted on the other one. With --recovery-code, no \
            machine of the circle is needed. With --token-fd, a machine joins without a person, \
            with a token that `keychainctl sync token` has printed.
            """)

    @Option(
        help: ArgumentHelp(
            "The identifier of the circle, or its first digits. By default, the only circle on the "
                + "server.",
            valueName: "hex"))
    var circle: String?

    @Flag(
        help: "Shows a code to paste on a machine of the circle, and asks for that machine's code.")
    var paste = false

    @Flag(help: "Joins with the circle's recovery code, which is asked for.")
    var recoveryCode = false

    @Option(
        help: ArgumentHelp(
            "Joins with the recovery code, read from this file descriptor.", valueName: "number"))
    var recoveryCodeFd: Int32?

    @Option(
        name: [.customLong("token-fd"), .customLong("token-descriptor")],
        help: ArgumentHelp(
            "Joins with the join token, read from this file descriptor.", valueName: "number"))
    var tokenDescriptor: Int32?

    @OptionGroup var options: SyncOptions

    private var usesRecoveryCode: Bool { recoveryCode || recoveryCodeFd != nil }

    mutating func validate() throws {
        let count = [paste, usesRecoveryCode, tokenDescriptor != nil].count { $0 }
        guard count <= 1 else {
            throw ValidationError(
                "Only one of --paste, the recovery code and --token-fd can be given.")
        }
        guard tokenDescriptor == nil || circle == nil else {
            throw ValidationError("The join token names the circle. Omit --circle.")
        }
        try InputOption.requireDistinct([
            InputOption("--token-fd", tokenDescriptor),
            InputOption("--recovery-code-fd", recoveryCodeFd),
            InputOption("--passcode-fd", options.passcode.passcodeFd),
        ])
    }

    func run() throws {
        try ControlFailure.ofSynchronization {
            let sync = try SyncSession(making: options)
            defer { sync.close() }
            if usesRecoveryCode {
                try recover(sync)
            } else {
                try sync.keychain.requireNoCircle()
                let log = try admission(to: sync)
                try sync.keychain.send(.join(membership: log.records))
                try sync.settle()
            }
            let status = try sync.keychain.status()
            try Output.print(
                "Joined the circle \(Hexadecimal.text(status.circle)), of "
                    + "\(counted(status.machines.count, "machine")).")
            guard status.state == .current else {
                return Output.complain(
                    "Not everything that other machines wrote could be read yet. `keychainctl sync "
                        + "run` continues.")
            }
        }
    }

    // MARK: With the approval of a member

    /// Gets this machine added to a circle.
    ///
    /// - Returns: The membership log, which includes this machine.
    private func admission(to sync: SyncSession) throws -> CircleLog {
        let token = try tokenDescriptor.map(Self.token(from:))
        let circle = try token?.grant.circle ?? sync.circle(beginningWith: self.circle)
        // A hostile server could have added the keys of an earlier attempt to a circle that it
        // controls. So each attempt has new keys, unless a token confirms the circle.
        if token == nil { try sync.keychain.send(.forget) }
        let machine = try sync.keychain.machine()
        if let token { return try join(sync, machine, token) }
        return try paste
            ? exchangeCodes(sync, machine, circle) : compareDigits(sync, machine, circle)
    }

    private func compareDigits(
        _ sync: SyncSession, _ machine: MachineDescription, _ circle: CircleID
    ) throws -> CircleLog {
        guard !options.passcode.noPrompt, let terminal = Terminal() else {
            throw ControlFailure(
                .failure,
                "Comparing digits requires a terminal. Use --paste, --token-fd or the recovery "
                    + "code.")
        }
        terminal.show("Run `keychainctl sync approve` on a machine of the circle.\n")
        let conversation = JoinerConversation(
            machine, circle: circle, store: sync.store, created: SyncMoment.now)
        let digits: String
        do {
            digits = try sync.showing("waiting for a machine of the circle") {
                try await conversation.digits()
            }
        } catch {
            try? AsyncWork.wait { try await conversation.withdraw() }
            throw error
        }
        guard SyncQuestion.areSame(digits, at: terminal) else {
            try AsyncWork.wait { try await conversation.refuse() }
            throw ControlFailure(.failure, "Not confirmed. This machine did not join.")
        }
        return try sync.showing("waiting for the confirmation on the other machine") {
            try await conversation.confirm()
        }
    }

    private func exchangeCodes(
        _ sync: SyncSession, _ machine: MachineDescription, _ circle: CircleID
    ) throws -> CircleLog {
        let joiner = PastedJoiner(machine, circle: circle, store: sync.store)
        // Withdraw the offer even after a failure: the next attempt has other keys.
        defer { try? AsyncWork.wait { try await joiner.withdraw() } }
        try sync.showing("connecting") { try await joiner.offer() }
        try Output.print(joiner.code.description)
        Output.complain(
            "Run `keychainctl sync approve --paste` on a machine of the circle, and paste this "
                + "code there.")
        let code = try SyncQuestion.code(mayAsk: !options.passcode.noPrompt)
        return try sync.showing("waiting for the approval on the other machine") {
            try await joiner.join(code)
        }
    }

    private func join(
        _ sync: SyncSession, _ machine: MachineDescription, _ token: JoinToken
    ) throws -> CircleLog {
        let joiner = TokenJoiner(token, machine, store: sync.store)
        do {
            return try sync.showing("waiting for a machine of the circle") {
                try await joiner.join()
            }
        } catch let failure as JoiningFailure {
            guard case .timedOut = failure else { throw failure }
            let expires = timestamp(SyncMoment.seconds(token.grant.expires))
            throw ControlFailure(
                .failure,
                "No machine of the circle has added this machine. A machine of the circle that has "
                    + "all access groups must run `keychainctl sync run`, and the token must not "
                    + "have expired: it expires at \(expires). Run this command again to go on "
                    + "waiting.")
        }
    }

    private static func token(from descriptor: Int32) throws -> JoinToken {
        let text = try SecretInput.fromDescriptor(descriptor, "join token")
        guard let token = SyncTokenText.token(text) else {
            throw ControlFailure(
                .failure, "The input is not a join token that `keychainctl sync token` printed.")
        }
        return token
    }

    // MARK: With the recovery code

    private func recover(_ sync: SyncSession) throws {
        let status = try sync.keychain.status()
        let circle: CircleID
        switch status.state {
        case .none: circle = try sync.circle(beginningWith: self.circle)
        case .restoring, .comparing:
            // A join may have been interrupted. The keychain then needs the code again, to decrypt
            // the keys that were granted to the holder of the code.
            guard let digest = Digest(status.circle) else { throw ControlFailure.noCircle }
            circle = CircleID(digest)
        case .current, .locked, .removed:
            return try sync.keychain.requireNoCircle(in: status)
        }
        let (joiner, code) = (RecoveryJoiner(sync.relay, circle: circle), try code())
        try sync.showing("joining the circle") { try await joiner.join(code) }
        try sync.settle()
    }

    private func code() throws -> RecoveryCode {
        if let recoveryCodeFd {
            return try RecoveryCode(
                words: SecretInput.fromDescriptor(recoveryCodeFd, "recovery code"))
        }
        guard !options.passcode.noPrompt, let terminal = Terminal() else {
            throw ControlFailure(
                .locked,
                "There is no terminal for a prompt. Provide the recovery code with "
                    + "--recovery-code-fd.")
        }
        guard let typed = terminal.askHidden("Recovery code: ") else {
            throw ControlFailure(.locked, "The input ended without an answer. Nothing was changed.")
        }
        return try RecoveryCode(words: typed)
    }
}

#endif
