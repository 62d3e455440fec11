// FileSession: work on the files of a keychain, which this process opens itself.

import KeychainRuntime
import KeychainEngine
import KeychainCore

struct FileSession {
    let engine: KeychainEngine
    /// The same engine, and what unlocks it.
    let session: KeychainSession

    /// Opens the keychain that is there; nil where there is none.
    init?(existing passcode: PasscodeSource) throws {
        guard try KeychainPlace.holdsKeychain(KeychainPlace.folder().directory) else { return nil }
        try self.init(making: passcode)
    }

    /// Opens the keychain, and makes it where there is none.
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

    /// Unlocks if the passcode is given, so that as much as can be is looked at.
    func unlockIfPossible() throws {
        if engine.hasPasscode { _ = try session.unlock() }
    }

    func close() { engine.close() }
}
