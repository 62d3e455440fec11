// KeychainContext+Entitlements: what the program of the current task is entitled to.

import KeychainEngine
package import KeychainCore

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
