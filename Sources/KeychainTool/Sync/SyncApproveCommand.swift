// SyncApproveCommand: lets another machine into the circle.
//   (1) The machine is added only after the user has confirmed that it shows the same digits, or
//       has pasted its code.

#if Synchronization

import ArgumentParser
import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization

struct SyncApproveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Approves a machine that asks to join the circle.",
        discussion: """
            The other machine runs `keychainctl sync join`. Both show six digits; compare them, \
            and confirm only if they are the same. With --paste, a code is pasted on each machine \
            instead.
            """)

    @OptionGroup var name: SyncNameOptions

    @OptionGroup var groups: SyncGroupOptions

    @Flag(help: "Shows a code to paste on the other machine, and asks for that machine's code.")
    var paste = false

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            let sync = try SyncSession(existing: options)
            defer { sync.close() }
            let membership = try sync.membership()
            guard !membership.status.machines.contains(where: { $0.name == name.name }) else {
                throw ControlFailure(
                    .exists, "A machine of the circle has this name already. Choose another one.")
            }
            if paste {
                try exchangeCodes(sync, membership)
            } else {
                try compareDigits(sync, membership)
            }
            try Output.print("Added \(printable(name.name)) to the circle.")
        }
    }

    private func compareDigits(
        _ sync: SyncSession, _ membership: SyncSession.Membership
    ) throws {
        guard !options.passcode.noPrompt, let terminal = Terminal() else {
            throw ControlFailure(
                .failure,
                "Comparing digits requires a terminal. Use --paste, or `keychainctl sync token`.")
        }
        let conversation = MemberConversation(
            member: membership.machine, circle: membership.circle,
            known: membership.head, store: sync.store)
        terminal.show("Run `keychainctl sync join` on the machine that is to be added.\n")
        let candidate = try sync.showing("waiting for a machine") {
            try await conversation.next()
        }
        guard SyncQuestion.areSame(candidate.digits, at: terminal) else {
            try AsyncWork.wait { try await conversation.refuse(candidate) }
            throw ControlFailure(.failure, "Not confirmed. The machine was not added.")
        }
        try AsyncWork.wait { try await conversation.confirm(candidate) }
        try add(candidate.machine, sync)
        try? AsyncWork.wait { try await conversation.finish(candidate) }
    }

    private func exchangeCodes(
        _ sync: SyncSession, _ membership: SyncSession.Membership
    ) throws {
        let member = PastedMember(
            circle: membership.circle, known: membership.head, store: sync.store)
        let own = try sync.showing("connecting") { try await member.code() }
        Output.complain(
            "Run `keychainctl sync join --paste` on the machine that is to be added, and paste "
                + "this code there:")
        Output.complain(own.description)
        let code = try SyncQuestion.code(mayAsk: !options.passcode.noPrompt)
        let machine = try sync.showing("looking for the machine") {
            try await member.machine(code)
        }
        try add(machine, sync)
        try? AsyncWork.wait { try await member.finish(machine) }
    }

    private func add(_ machine: MachineDescription, _ sync: SyncSession) throws {
        let message = SynchronizationMessage.add(
            machine: Data(machine.bytes), name: name.name, groups: groups.names)
        do {
            try sync.keychain.send(message)
        } catch let failure as KeychainFailure where failure.cause == .contention {
            // Another change was under way, or another process has synchronized.
            try sync.settleChange()
            try sync.keychain.send(message)
        }
        try sync.settleChange()
        // The keys for the machine are sent once its addition is in the membership log.
        try sync.settle()
    }
}

#endif
