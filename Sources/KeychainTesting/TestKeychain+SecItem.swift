// The SecItem functions on a test keychain.

#if !canImport(Darwin)

import KeychainRuntime
import KeychainEngine
import KeychainCore
import KeychainServices

extension TestKeychain {
    /// Runs code in which `SecItemAdd` and the other functions of `KeychainServices` use this
    /// keychain, with the access groups that it has now.
    ///
    /// It holds for the code itself and for tasks that it makes, `Task.detached` excepted; a
    /// dispatch queue or a thread that it hands work to uses the keychain of the user. Nested, the
    /// innermost counts. A `Keychain` goes by its database, here as everywhere.
    ///
    /// - Parameter body: The code.
    /// - Returns: What the code returns.
    /// - Throws: What the code throws.
    public func withSecItem<Result>(_ body: () throws -> Result) rethrows -> Result {
        try KeychainContext.$connection.withValue(connection, operation: body)
    }

    /// Runs asynchronous code in which `SecItemAdd` and the other functions of
    /// `KeychainServices` use this keychain, with the access groups that it has now.
    ///
    /// It holds as far as in the synchronous form.
    ///
    /// - Parameters:
    ///   - isolation: The actor that the code runs on: the caller's.
    ///   - body: The code.
    /// - Returns: What the code returns.
    /// - Throws: What the code throws.
    public func withSecItem<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await KeychainContext.$connection.withValue(connection, operation: body)
    }
}

#endif
