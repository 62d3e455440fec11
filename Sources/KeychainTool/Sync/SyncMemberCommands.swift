// SyncMemberCommands: lists the machines of the circle, removes one, and leaves the circle.
//   (1) A removed machine keeps the items that it has. It can't open what other machines write
//       after they learn of the removal: the other machines then write under keys that the removed
//       machine doesn't get.

#if Synchronization

import ArgumentParser
import KeychainCore
import KeychainCrypto
import KeychainSynchronization

struct SyncMembersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "Lists the machines of the circle.",
        discussion: """
            For each other machine, the list shows the time of the latest sign of life that this \
            machine has seen. A machine gives one about once an hour while it synchronizes. A \
            machine that was away too long is suspended: until it synchronizes again, the others \
            forget deletions without waiting for it. If the server can't be reached, the list is \
            the one that this machine knows.
            """)

    @Flag(help: "Writes an array of JSON objects.")
    var json = false

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            let keychain = try SyncKeychain(existing: options.passcode.source)
            defer { keychain.close() }
            try keychain.requireUnlocked()
            if let reason = SyncStatusCommand.settle(keychain, options) {
                Output.report("The list may be out of date. \(reason)")
            }
            let status = try keychain.status()
            switch status.state {
            case .none: throw ControlFailure.noCircle
            case .locked: throw try keychain.lockedFailure
            case .removed: throw ControlFailure.removedFromCircle
            case .restoring, .comparing, .current: break
            }
            try Output.print(
                json
                    ? JSON.array(status.machines.map(SyncText.json(_:))).text
                    : SyncText.table(status.machines, now: SyncMoment.now))
        }
    }
}

struct SyncRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes another machine from the circle.",
        discussion: """
            The machine keeps the items that it has, and gets no later ones. Change the secrets \
            that it must no longer know. It can't be added again with the same keys.
            """)

    @Argument(
        help: ArgumentHelp(
            "The name of the machine, its identifier, or the identifier's first digits, as shown "
                + "by `keychainctl sync members`.",
            valueName: "machine"))
    var machine: String

    @Flag(help: "Removes the machine without asking.")
    var yes = false

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            let sync = try SyncSession(existing: options)
            defer { sync.close() }
            let removed = try Self.machine(machine, in: sync.membership().status.machines)
            guard !removed.isThisOne else {
                throw ControlFailure(
                    .failure,
                    "This machine can't remove itself. `keychainctl sync leave` ends its "
                        + "membership.")
            }
            let id = Hexadecimal.text(removed.id.bytes)
            let name = removed.name.isEmpty ? id : printable(removed.name)
            if !yes {
                try Confirmation.require(
                    "\(name) will be removed from the circle for good.", phrase: "remove",
                    noPrompt: options.passcode.noPrompt)
            }
            try sync.keychain.send(.remove(removed.id))
            try sync.settleChange()
            // The removal says up to which entry each log counts. Later entries that were written
            // without knowledge of the removal are now void. This machine sends the contents of its
            // own void entries again, under new keys.
            try sync.settle()
            try Output.print("Removed \(name) from the circle.")
        }
    }

    /// The machine with the name `text` or, if there is none, the one whose identifier begins with
    /// `text`.
    private static func machine(
        _ text: String, in machines: [CircleStatus.Machine]
    ) throws(ControlFailure) -> CircleStatus.Machine {
        let named = machines.filter { $0.name == text }
        let matching =
            named.isEmpty
            ? machines.filter { Hexadecimal.text($0.id.bytes).hasPrefix(text.lowercased()) } : named
        guard let machine = matching.first, !text.isEmpty else {
            throw ControlFailure(
                .notFound,
                "No machine of the circle has this name or identifier. `keychainctl sync members` "
                    + "lists them.")
        }
        guard matching.count == 1 else {
            let ids = matching.map { Hexadecimal.text($0.id.bytes) }
            throw ControlFailure(
                .failure,
                "\(matching.count) machines match. Specify one by its identifier: "
                    + ids.joined(separator: ", ") + ".")
        }
        return machine
    }
}

struct SyncLeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Ends this machine's membership in the circle.",
        discussion: """
            Changes that other machines don't have yet are sent first. The items stay on this \
            machine. With --force, the machine only forgets the circle and its own keys: nothing \
            is sent, and the others still list it until one of them removes it.
            """)

    @Flag(help: "Forgets the circle without the server.")
    var force = false

    @OptionGroup var options: SyncOptions

    func run() throws {
        try ControlFailure.ofSynchronization {
            let keychain = try SyncKeychain(existing: options.passcode.source)
            defer { keychain.close() }
            guard !force else {
                try keychain.send(.forget)
                return try Output.print("The circle was forgotten. The items stay.")
            }
            try keychain.requireUnlocked()
            switch try keychain.status().state {
            case .none: throw ControlFailure.noCircle
            case .locked: throw try keychain.lockedFailure
            case .removed: break
            case .restoring, .comparing, .current:
                try leave(SyncSession(keychain, options.configuration()))
            }
            try keychain.send(.forget)
            try Output.print("This machine has left the circle. The items stay.")
        }
    }

    private func leave(_ sync: SyncSession) throws {
        let membership: SyncSession.Membership
        do {
            membership = try sync.membership()
        } catch let failure as ControlFailure where failure == .removedFromCircle {
            return
        }
        try sync.keychain.send(.remove(membership.machine.bytes))
        try sync.settleChange()
        guard try sync.keychain.status().state == .removed else {
            throw ControlFailure(
                .failure,
                "The server doesn't show the removal yet, so the circle was not forgotten. Run "
                    + "this command again.")
        }
    }
}

#endif
