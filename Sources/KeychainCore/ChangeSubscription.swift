// ChangeSubscription: a registration to be notified of changes.

/// A subscription, in effect until it is ended or the last reference to it is released.
package protocol ChangeSubscription: AnyObject, Sendable {
    /// Ends the subscription. If a change preceded the end, the function that was passed to
    /// `subscribe` may still be called for that change, or be running, after this method returns.
    func end()
}

extension RequestHandler {
    /// The implementation for request handlers that can't report changes.
    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        throw KeychainFailure(.unimplemented, "This keychain can't report changes.")
    }
}
