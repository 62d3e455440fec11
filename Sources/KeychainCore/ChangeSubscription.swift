// ChangeSubscription: a registration to be notified of changes.

/// A subscription, in effect until it is ended or the last reference to it is released.
package protocol ChangeSubscription: AnyObject, Sendable {
    /// Ends the subscription. A call of the handler for a change before the end may still begin or
    /// finish afterwards.
    func end()
}

extension RequestHandler {
    /// The implementation for handlers that can't report changes.
    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        throw KeychainFailure(.unimplemented, "This keychain can't report changes.")
    }
}
