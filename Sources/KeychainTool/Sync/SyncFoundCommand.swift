// SyncFoundCommand: founds a circle with this machine as its only member.
//   (1) A recovery code is made here if it is requested, and shown exactly once, as soon as the
//       circle exists. It is shown even if a later step fails.

#if Synchronization

import ArgumentParser
import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization

struct SyncFoundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "found",
        abstract: "Founds a circle with this machine as its only member.",
        discussion: """
            With --recovery-code, a code of twelve words is generated and printed once. With the \
            code, a machine can join the circle even if all its machines are lost, and read \
            everything in it. Write it down, and keep it away from the machines. A circle can't \
            get a recovery code later.
            """)

    @OptionGroup var name: SyncNameOptions

    @Flag(help: "Generates a recovery code for the circle and prints it once.")
    var recoveryCode = false

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            let sync = try SyncSession(making: options)
            defer { sync.close() }
            try sync.keychain.requireNoCircle()
            // Connect to the server first: if it can't be reached, no circle is founded.
            let directory = CircleDirectory(sync.store)
            let others = try sync.showing("connecting") {
                do {
                    return counted(try await directory.circles().count, "other circle")
                } catch JoiningFailure.tooManyCircles {
                    return "many other circles"
                }
            }
            if others != counted(0, "other circle") {
                Output.complain(
                    "The server has \(others). `keychainctl sync join` would join an existing one.")
            }
            // An attempt to join that was interrupted may have left entries of another circle.
            try sync.keychain.send(.forget)
            let circle = try found(sync.keychain)
            do {
                try sync.settleChange()
            } catch {
                Output.complain(
                    "The circle was founded on this machine, but the server doesn't have it yet. "
                        + "`keychainctl sync run` sends it. The reason:")
                throw error
            }
            if recoveryCode {
                Output.complain("Founded the circle \(circle).")
            } else {
                try Output.print("Founded the circle \(circle).")
            }
        }
    }

    /// - Returns: The identifier of the circle.
    private func found(_ keychain: SyncKeychain) throws -> String {
        guard recoveryCode else {
            return try Self.circle(in: keychain.send(.found(name: name.name)).message)
        }
        ProcessProtection.beginHoldingSecrets()
        let code = RecoveryCode.random()
        let answer = try keychain.send(.found(name: name.name), secret: code.bytes)
        try Output.print(code.words.joined(separator: " "))
        return try Self.circle(in: answer.message)
    }

    private static func circle(in status: Data) throws -> String {
        Hexadecimal.text(try CircleStatus(messageBytes: status).circle)
    }
}

#endif
