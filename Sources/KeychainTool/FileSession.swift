// FileSession: a session in which this process opens the files of a keychain itself.

import KeychainRuntime
import KeychainEngine
import KeychainCore

struct FileSession {
    let engine: KeychainEngine
    /// A session on the same engine, which can unlock it.
    let session: KeychainSession

    /// Opens the existing keychain. Returns `nil` if there is none.
    init?(existing passcode: PasscodeSource) throws {
        guard try KeychainPlace.holdsKeychain(KeychainPlace.folder().directory) else { return nil }
        try self.init(making: passcode)
    }

    /// Opens the keychain, and creates it if it doesn't exist.
    init(making passcode: PasscodeSource) throws {
        let directory = try KeychainPlace.folder().directory
        engine = try KeychainPlace.showingConversion { () throws(KeychainFailure) in
            try EmbeddedKeychain.engine(in: directory)
        }
        session = KeychainSession(
            passcode,
            OpenedKeychain(
                keychain: .engine(engine), groups: try ProcessKeychain.entitlements().accessGroups))
    }

    /// If a passcode is set, reads it and unlocks the keychain, so that as much as possible can be
    /// checked or restored. If no passcode can be obtained, the keychain stays as it is.
    ///
    /// - Throws: `authFailed` if the passcode is wrong.
    func unlockIfPossible() throws {
        if engine.hasPasscodeSlot { _ = try session.unlock() }
    }

    func close() { engine.close() }
}
