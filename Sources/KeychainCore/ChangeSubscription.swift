// ChangeSubscription: a standing request to be told of changes.

/// Lasts until it is ended, or until the last reference to it is gone.
package protocol ChangeSubscription: AnyObject, Sendable {
    /// Ends it. A call of the handler that is under way may still come to its end afterwards.
    func end()
}

extension RequestHandler {
    /// For services that can't tell.
    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        throw KeychainFailure(.unimplemented, "This keychain doesn't tell of changes.")
    }
}
