// LegacyKeychainManager: a manager for code without async and await, with a serial queue and
// completion handlers.

import Dispatch
import Foundation
import Security

/// Loads the secrets of one service on a serial queue.
public final class LegacyKeychainManager: Sendable {
    private let service: String
    private let queue = DispatchQueue(label: "com.app.keychain")

    /// Creates a manager for the items of one service.
    ///
    /// - Parameter service: The service.
    public init(service: String = Bundle.main.bundleIdentifier ?? "default") {
        self.service = service
        SecItem.name(queue)
    }

    /// Loads a secret without blocking the caller.
    ///
    /// - Parameters:
    ///   - key: The account.
    ///   - completion: Receives the secret, `nil` if the item does not exist, or `KeychainError`.
    ///     The handler is called once, on the queue "com.app.keychain". Handlers are called in the
    ///     order in which this method was called.
    public func load(
        key: String, completion: @escaping @Sendable (Result<Data?, Error>) -> Void
    ) {
        // A dispatch queue doesn't inherit task-local values.
        let observer = SecItem.observer
        queue.async { [service] in
            let result = Result<Data?, Error> {
                try SecItem.$observer.withValue(observer) {
                    let query = KeychainQueryBuilder.buildQuery(
                        account: key, service: service, returnData: true)
                    var result: CFTypeRef?
                    let status = SecItem.copyMatching(query, &result)
                    return try KeychainManager.secret(status, result)
                }
            }
            completion(result)
        }
    }
}
