// SyncKeychain: requests to the keychain about its circle. None of them uses the server.

#if Synchronization

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import KeychainSynchronization

struct SyncKeychain {
    let session: KeychainSession

    init(_ session: KeychainSession) { self.session = session }

    /// Opens the keychain, and creates it if it doesn't exist.
    init(making passcode: PasscodeSource) throws {
        session = try KeychainSession(making: passcode)
    }

    /// Opens the existing keychain.
    ///
    /// - Throws: ``ControlFailure/noCircle`` if there is no keychain.
    init(existing passcode: PasscodeSource) throws {
        guard let session = try KeychainSession(existing: passcode) else {
            throw ControlFailure.noCircle
        }
        self.session = session
    }

    /// Closes the keychain, see ``KeychainSession/close()``.
    func close() { session.close() }

    // MARK: Messages

    @discardableResult
    func send(
        _ message: SynchronizationMessage, secret: SecretBytes? = nil
    ) throws -> Synchronize.Answer {
        do {
            return try session.keychain.perform(Synchronize(message.messageBytes, secret: secret))
        } catch  where error.status == .unimplemented {
            guard case .service = session.keychain else { throw error }
            throw ControlFailure(
                .failure,
                "The keychain service was built without synchronization. Build keychaind with the "
                    + "package trait Synchronization.")
        } catch  where error.status == .interactionNotAllowed {
            throw try lockedFailure
        }
    }

    /// The state of synchronization. If the keychain is locked, it is unlocked if possible.
    func status() throws -> CircleStatus {
        let status = try CircleStatus(messageBytes: send(.status).message)
        guard status.state == .locked, try session.hasPasscode, try session.unlock() else {
            return status
        }
        return try CircleStatus(messageBytes: send(.status).message)
    }

    /// The public keys of this machine. If it has no keys, they are made.
    func machine() throws -> MachineDescription {
        guard let machine = MachineDescription(decoding: try send(.describe).message) else {
            throw ControlFailure(
                .failure,
                "The keychain's answer can't be read. It is from another version of this program.")
        }
        return machine
    }

    // MARK: Requirements

    /// Why a locked keychain was not unlocked.
    var lockedFailure: ControlFailure {
        get throws { try session.hasPasscode ? .lockedCircle : .lockedWithoutPasscode }
    }

    /// - Throws: ``ControlFailure`` if the keychain is locked and can't be unlocked.
    func requireUnlocked() throws {
        guard try status().state != .locked else { throw try lockedFailure }
    }

    /// - Throws: ``ControlFailure`` if the keychain is in a circle already, was removed from one,
    ///   or is locked and can't be unlocked.
    func requireNoCircle() throws { try requireNoCircle(in: status()) }

    /// The same check of a state that is already known. Calling ``status()`` again would prompt
    /// again if the keychain is locked.
    func requireNoCircle(in status: CircleStatus) throws {
        switch status.state {
        case .none: return
        case .locked: throw try lockedFailure
        case .removed: throw ControlFailure.removedFromCircle
        case .restoring, .comparing, .current:
            throw ControlFailure(
                .exists,
                "This keychain is in a circle already. `keychainctl sync leave` ends that.")
        }
    }
}

#endif
