// SyncFailures: what the commands of synchronization report when they fail.
//   (1) The messages about joining and about the circle's state say what to do next. Text from the
//       server is escaped.

#if Synchronization

import KeychainCore
import KeychainEtcd
import KeychainRelay
import KeychainSynchronization

extension ControlFailure {
    static let noCircle = ControlFailure(
        .notFound,
        "This keychain is in no circle. `keychainctl sync found` founds one, and `keychainctl sync "
            + "join` joins one.")

    static let removedFromCircle = ControlFailure(
        .failure,
        "This machine was removed from its circle. `keychainctl sync leave` forgets the circle; "
            + "after that, the machine can join again. Its items stay.")

    static let lockedCircle = ControlFailure(
        .locked,
        "The keychain is locked. Provide the passcode with --passcode-fd, or run this command at a "
            + "terminal.")

    /// Carries out a command. Failures of the keychain, of the server and of joining, and rejected
    /// data from the server, are thrown as ``ControlFailure``.
    static func ofSynchronization<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let failure as KeychainFailure {
            throw ControlFailure(synchronization: failure)
        } catch let failure as EtcdFailure {
            throw ControlFailure(.failure, escapedForLine(failure.description))
        } catch let failure as SynchronizationFailure {
            throw ControlFailure(.failure, escapedForLine(failure.description))
        } catch let failure as JoiningFailure {
            throw ControlFailure(.failure, failure.description)
        }
    }

    /// A failure of the keychain, with the exit status for its kind. The general messages for some
    /// kinds are about items, so these kinds get other messages here.
    private init(synchronization failure: KeychainFailure) {
        let status: ControlStatus
        switch failure.status {
        case .itemNotFound: status = .notFound
        case .duplicateItem: status = .exists
        case .missingEntitlement: status = .denied
        case .interactionNotAllowed:
            self = .lockedCircle
            return
        default:
            self.init(failure)
            return
        }
        self.init(status, escapedForLine(failure.reason))
    }
}

#endif
