// ControlStatus: the exit statuses, and the mapping of keychain failures to them.
// The numbers are documented in Documentation/keychainctl.md. A number never changes its meaning.

package import KeychainCore

package enum ControlStatus: Int32, CaseIterable, Sendable {
    case success = 0
    case failure = 1
    case notFound = 3
    case locked = 4
    case denied = 5
    case damaged = 6
    case exists = 7
    /// EX_USAGE of sysexits.h.
    case usage = 64
    /// The statuses of env(1) and of shells.
    case notExecutable = 126
    case noProgram = 127

    package var meaning: String {
        switch self {
        case .success: "success"
        case .failure: "any other failure"
        case .notFound: "no item matches, or something else doesn't exist, such as the keychain"
        case .locked: "the item is locked, or authentication is required or failed"
        case .denied: "permission denied: an entitlement or a file permission is missing"
        case .damaged: "an item, the keychain, a backup or an audit is damaged"
        case .exists: "the item, or something else to be created, already exists"
        case .usage: "invalid arguments"
        case .notExecutable: "run: the program can't be executed"
        case .noProgram: "run: the program or its interpreter was not found"
        }
    }

    static var table: String {
        "EXIT STATUS\n"
            + allCases.map { status in
                let number = String(status.rawValue)
                return "  " + number + String(repeating: " ", count: 4 - number.count)
                    + status.meaning
            }.joined(separator: "\n")
    }
}

/// The reason why a command failed: the exit status and a message for the user.
package struct ControlFailure: Error, Hashable, Sendable {
    package let status: ControlStatus
    /// What happened and what to do next; empty if the status is sufficient. It may contain
    /// attributes, but never a secret.
    package let message: String

    package init(_ status: ControlStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension ControlFailure {
    /// The status and message for a failure of the keychain. The failure's reason may come from the
    /// service or contain paths, so it is escaped to stay on one line.
    package init(_ failure: KeychainFailure) {
        let failure = KeychainFailure(
            failure.status, escapedForLine(failure.reason), cause: failure.cause,
            item: failure.item)
        switch failure.status {
        case .itemNotFound:
            self.init(
                .notFound,
                "No item matches. Run `keychainctl doctor` with the same options to find out why.")
        case .duplicateItem:
            self.init(
                .exists, "The item already exists. To replace its value, leave out --new.")
        case .interactionNotAllowed:
            self.init(
                .locked,
                "The item is locked with the passcode. Provide it with --passcode-fd, or run this "
                    + "command at a terminal.")
        case .authenticationNeeded:
            self.init(
                .locked,
                "The item requires authentication. Provide the passcode with --passcode-fd or its "
                    + "application password with --application-password-fd, or run this command "
                    + "at a terminal.")
        case .authFailed:
            self.init(.locked, failure.reason)
        case .missingEntitlement:
            self.init(
                .denied,
                failure.reason
                    + " `keychainctl status` shows where the entitlements of keychainctl come from."
            )
        case .readOnly:
            self.init(.denied, failure.reason)
        case .decode where failure.item.map { failure == .damagedItem($0) } == true:
            let item = failure.item?.description ?? ""
            self.init(
                .damaged,
                "The item \(item) is damaged. Nothing was deleted. `keychainctl check` explains "
                    + "how to set it aside.")
        case .decode, .invalidKeychain:
            self.init(.damaged, failure.reason)
        case .notAvailable where failure.cause == .damage:
            self.init(.damaged, failure.reason)
        case .notAvailable where failure.cause == .permission:
            self.init(.denied, failure.reason)
        default:
            self.init(.failure, failure.reason)
        }
    }
}
