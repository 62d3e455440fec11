// KeychainServicesContext: which keychain the functions of this module speak to.

#if !canImport(Darwin)

package import KeychainModel
internal import KeychainEngine

/// The keychain of the current task.
package enum KeychainServicesContext {
    /// A keychain that takes the place of this process's own for the duration of a task.
    @TaskLocal package static var connection: KeychainConnection?

    /// The keychain that a call made now goes to.
    ///
    /// - Throws: `missingEntitlement` when the caller has no access group, or why the keychain of
    ///   this process can't be opened.
    package static func current() throws(KeychainFailure) -> KeychainConnection {
        let current: KeychainConnection
        if let connection {
            current = connection
        } else {
            current = try EmbeddedKeychain.connection()
        }
        guard !current.caller.isEmpty else {
            throw .missingEntitlement("The caller has no access group.")
        }
        return current
    }
}

#endif
