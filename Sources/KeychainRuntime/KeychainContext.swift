// KeychainContext: which keychain the functions of the facades speak to, what the program of the
// current task is entitled to, and who learns why a call failed.

package import KeychainCore
import KeychainEngine
import Synchronization

/// The keychain of the current task.
package enum KeychainContext {
    /// A keychain that takes the place of this process's own for the duration of a task.
    @TaskLocal package static var connection: ProcessConnection?

    /// Learns why a call failed, which a status alone doesn't say.
    @TaskLocal package static var recorder: FailureRecorder?

    /// The keychain that a call made now goes to.
    ///
    /// - Throws: `missingEntitlement` when the caller has no access group, or why the keychain of
    ///   this process can't be opened.
    package static func current() throws(KeychainFailure) -> ProcessConnection {
        let current: ProcessConnection
        if let connection {
            current = connection
        } else {
            current = try ProcessKeychain.connection()
        }
        guard !current.caller.isEmpty else {
            throw .missingEntitlement("The caller has no access group.")
        }
        return current
    }
}

/// Takes the failures of the calls that are made while it is the recorder of the task.
package final class FailureRecorder: Sendable {
    private let last = Mutex<KeychainFailure?>(nil)

    package init() {}

    /// The failure of the last call that failed.
    package var failure: KeychainFailure? { last.withLock { $0 } }

    package func record(_ failure: KeychainFailure) {
        last.withLock { $0 = failure }
    }
}

extension KeychainContext {
    /// The entitlements of the current caller: of this process, or of the caller that takes its
    /// place for the duration of a task.
    ///
    /// - Throws: `missingEntitlement` for a list that can't be read.
    package static func entitlements() throws(KeychainFailure) -> Entitlements {
        guard let caller = connection?.caller else { return try ProcessKeychain.entitlements() }
        let names = caller.names + (caller.includesAll ? [AccessGroups.wildcard] : [])
        return Entitlements(
            accessGroups: caller,
            values: ["keychain-access-groups": .array(names.map { .text($0) })])
    }
}
