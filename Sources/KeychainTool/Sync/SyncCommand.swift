// SyncCommand: synchronizes items with other machines, through a server that can't read them.
//   (1) A program that was built without the package trait `Synchronization` has the command too,
//       and says what is missing.

import ArgumentParser

#if Synchronization

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Synchronizes items with other machines.",
        discussion: """
            Machines that share items are a circle. Items marked as synchronizable travel between \
            them through a server, etcd, which sees neither their values nor their names. \
            `keychainctl sync status` shows how many of these items stay on this machine, and why. \
            The first machine founds the circle; each other machine joins it with the approval of \
            a member, a join token or the recovery code. `keychainctl sync run` then synchronizes \
            all the time.

            The server is configured in keychain/sync.json in $XDG_CONFIG_HOME or ~/.config, a \
            JSON object with endpoints and, if needed, prefix, authority, certificate, key, user, \
            passwordFile and suspendAfter.
            """,
        subcommands: [
            SyncFoundCommand.self, SyncJoinCommand.self, SyncApproveCommand.self,
            SyncMembersCommand.self, SyncRemoveCommand.self, SyncLeaveCommand.self,
            SyncTokenCommand.self, SyncStatusCommand.self, SyncRunCommand.self,
        ])
}

#else

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Synchronizes items with other machines.",
        discussion: "This keychainctl was built without synchronization.")

    @Argument(parsing: .captureForPassthrough, help: "Ignored.")
    var arguments: [String] = []

    func run() throws {
        throw ControlFailure(
            .failure,
            "This keychainctl was built without synchronization. Build it with the package trait "
                + "Synchronization.")
    }
}

#endif
