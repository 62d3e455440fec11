// KeychainContext: the keychain that the facades use in the current task, the entitlements of the
// caller, and the recorder of failures.

package import KeychainCore
import KeychainEngine
import Synchronization

/// The keychain of the current task.
package enum KeychainContext {
    /// A keychain that replaces the one of this process for the duration of a task.
    @TaskLocal package static var connection: ProcessConnection?

    /// Records why a call failed, which a status alone doesn't say.
    @TaskLocal package static var recorder: FailureRecorder?

    /// The keychain that a call uses now.
    ///
    /// - Throws: `missingEntitlement` if the caller has no access group, or the reason why the
    ///   keychain of this process can't be chosen, opened or reached.
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

/// Records the failures of calls in a task, if it is the task's ``KeychainContext/recorder``.
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
    /// The entitlements of the current caller, which is this process or the caller that replaces it
    /// for the duration of a task.
    ///
    /// - Throws: `missingEntitlement` if the entitlements can't be read, or the reason why the
    ///   keychain can't be chosen or its service can't be reached.
    package static func entitlements() throws(KeychainFailure) -> Entitlements {
        guard let caller = connection?.caller else { return try ProcessKeychain.entitlements() }
        let names = caller.names + (caller.includesAll ? [AccessGroups.wildcard] : [])
        return Entitlements(
            accessGroups: caller,
            values: ["keychain-access-groups": .array(names.map { .text($0) })])
    }
}
