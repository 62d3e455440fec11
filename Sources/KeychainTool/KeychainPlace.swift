// KeychainPlace: which keychain the tool works on, and whether there is one.
//   (1) Requests for items go where those of programs go: to the service, or to the files.
//   (2) What mends files works on the files themselves, also while another process has them open.

import KeychainRuntime
import KeychainEngine
import KeychainCore

/// A keychain that was opened, and the groups that its programs have by their entitlements.
struct OpenedKeychain {
    let keychain: KeychainHandler
    let groups: AccessGroups
}

enum KeychainPlace {
    /// The keychain that programs use.
    static func opened() throws(KeychainFailure) -> OpenedKeychain {
        OpenedKeychain(
            keychain: try showingConversion { () throws(KeychainFailure) in
                try ProcessKeychain.administration()
            },
            groups: try ProcessKeychain.entitlements().accessGroups)
    }

    /// Opens a keychain, and shows how far its conversion is where it is of an earlier version.
    static func showingConversion<Result>(
        _ opening: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let line = ProgressLine()
        EmbeddedKeychain.conversionProgress = { state in
            line.show("converted \(state.done) of \(counted(state.total, "item"))")
        }
        // A conversion that fails says so in a line of its own.
        defer { line.end() }
        return try opening()
    }

    /// Connects to the service, where one is in use. It comes before a secret is read: while it
    /// connects, the tool can be identified, and so read by other programs of this user.
    static func connect() throws(KeychainFailure) {
        _ = try ProcessKeychain.entitlements()
    }

    /// The client of the service. nil: none is in use.
    static func service() throws(KeychainFailure) -> ServiceClient? {
        guard case .service(let socket) = try KeychainChoice.current().mode else { return nil }
        return ProcessKeychain.client(for: socket)
    }

    /// Whether there is one. Looking doesn't make one; a service has made
    /// its own when it started.
    static func holdsKeychain() throws(KeychainFailure) -> Bool {
        if try service() != nil { return true }
        return try holdsKeychain(folder().directory)
    }

    /// The folder of its files. Where a service is in use, it is asked.
    static func folder() throws(KeychainFailure) -> EmbeddedKeychain.Location {
        guard let service = try service() else { return try EmbeddedKeychain.location() }
        return EmbeddedKeychain.Location(
            directory: try service.perform(ReadStatus()).directory, reason: "the keychain service")
    }

    /// Says which folders stay under the keys of before. One that can't be looked into isn't named.
    static func tellOfDamagedFolders() {
        guard let folder = try? folder() else { return }
        for path in KeychainEngine.damagedFolders(in: folder.directory) {
            Output.complain(
                "\(path) stays under the earlier keys. Delete it if nothing of it is needed.")
        }
    }

    /// Whether a folder holds a keychain.
    ///
    /// - Throws: `notAvailable` for a folder that can't be looked into.
    static func holdsKeychain(_ directory: String) throws(KeychainFailure) -> Bool {
        try KeychainEngine.isPresent(in: directory)
    }
}
