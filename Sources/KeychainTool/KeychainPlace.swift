// KeychainPlace: locates the keychain that the tool works on, and determines whether it exists.
//   (1) Requests for items go where those of other programs go: to the service, or to the files.
//   (2) Repairs work on the files themselves, even if a service is in use. A recovery fails while
//       another process has the files open.

import KeychainRuntime
import KeychainEngine
import KeychainCore

/// An opened keychain, and the access groups from the tool's entitlements.
struct OpenedKeychain {
    let keychain: KeychainHandler
    let groups: AccessGroups
}

enum KeychainPlace {
    /// Opens the keychain that programs use.
    static func opened() throws(KeychainFailure) -> OpenedKeychain {
        OpenedKeychain(
            keychain: try showingConversion { () throws(KeychainFailure) in
                try ProcessKeychain.administration()
            },
            groups: try ProcessKeychain.entitlements().accessGroups)
    }

    /// Runs `opening`. If this process then converts a keychain from an earlier format version, the
    /// progress is shown at a terminal.
    static func showingConversion<Result>(
        _ opening: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let line = ProgressLine()
        EmbeddedKeychain.conversionProgress = { state in
            line.show("converted \(state.done) of \(counted(state.total, "item"))")
        }
        // Clear the progress line even if the conversion fails, so that the error replaces it.
        defer { line.end() }
        return try opening()
    }

    /// Connects to the service, if one is in use. Call this before reading a secret: so that the
    /// service can identify the tool, other programs of this user can read the tool's memory while
    /// the tool connects.
    static func connect() throws(KeychainFailure) {
        _ = try ProcessKeychain.entitlements()
    }

    /// The client of the service, or `nil` if none is in use.
    static func service() throws(KeychainFailure) -> ServiceClient? {
        guard case .service(let socket) = try KeychainChoice.current().mode else { return nil }
        return ProcessKeychain.client(for: socket)
    }

    /// Whether a keychain exists. No keychain is created. With a service, the result is `true`,
    /// because the service creates a missing keychain at the first request.
    static func holdsKeychain() throws(KeychainFailure) -> Bool {
        if try service() != nil { return true }
        return try holdsKeychain(folder().directory)
    }

    /// The folder of the keychain's files. If a service is in use, the service reports it.
    static func folder() throws(KeychainFailure) -> EmbeddedKeychain.Location {
        guard let service = try service() else { return try EmbeddedKeychain.location() }
        return EmbeddedKeychain.Location(
            directory: try service.perform(ReadStatus()).directory, reason: "the keychain service")
    }

    /// Reports the folders in which recoveries have left damaged files. Call this once the
    /// keychain's keys have been replaced: the damaged files remain encrypted under the earlier
    /// keys. Nothing is reported if the keychain's folder can't be determined or listed.
    static func tellOfDamagedFolders() {
        guard let folder = try? folder() else { return }
        for path in KeychainEngine.damagedFolders(in: folder.directory) {
            Output.complain(
                "\(path) is still encrypted under the earlier keys. Delete it if you don't need "
                    + "anything in it.")
        }
    }

    /// Whether a folder contains a keychain.
    ///
    /// - Throws: Only if no keychain is found. `notAvailable` if the path isn't a folder, or if the
    ///   folder belongs to another user or is accessible to other users. If the folder can't be
    ///   examined, the error of examining it.
    static func holdsKeychain(_ directory: String) throws(KeychainFailure) -> Bool {
        try KeychainEngine.isPresent(in: directory)
    }
}
