// FileSession: work on the files of a keychain, which this process opens itself.

import KeychainClient
import KeychainEngine
import KeychainModel

struct FileSession {
    let engine: KeychainEngine
    /// The same engine, and what unlocks it.
    let session: Session

    /// Opens the keychain that is there; nil where there is none.
    init?(existing passcode: PasscodeSource) throws {
        let directory = try KeychainPlace.folder().directory
        guard try KeychainPlace.holdsKeychain(directory) else { return nil }
        engine = try EmbeddedKeychain.engine(in: directory)
        session = Session(
            passcode,
            OpenedKeychain(
                keychain: engine, groups: try ProcessKeychain.entitlements().accessGroups))
    }

    /// Unlocks if the passcode is given, so that as much as can be is looked at.
    func unlockIfPossible() throws {
        if engine.hasPasscode { _ = try session.unlock() }
    }

    func close() { engine.close() }
}
