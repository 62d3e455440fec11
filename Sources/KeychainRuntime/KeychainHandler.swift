// KeychainHandler: the kinds of keychain that a process can use, as one closed type.
//   (1) Requests reach the engine without a call through an existential: `switch` selects the case,
//       and the static type of the request selects the engine's overload.

package import KeychainEngine
package import KeychainCore

package enum KeychainHandler: RequestHandler {
    /// A keychain that this process has opened.
    case engine(KeychainEngine)
    /// The keychain of a folder that contained none. The first change that needs it creates it.
    case deferred(DeferredKeychain)
    /// A keychain that a service has open.
    case service(ServiceClient)
    /// A handler that a test provides.
    case substitute(any RequestHandler)

    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        switch self {
        case .engine(let engine): try engine.perform(request, as: caller)
        case .deferred(let keychain): try keychain.perform(request, as: caller)
        case .service(let client): try client.perform(request, as: caller)
        case .substitute(let handler): try handler.perform(request, as: caller)
        }
    }

    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        switch self {
        case .engine(let engine): try engine.stream(request, as: caller, progress: progress)
        case .deferred(let keychain):
            try keychain.stream(request, as: caller, progress: progress)
        case .service(let client): try client.stream(request, as: caller, progress: progress)
        case .substitute(let handler):
            try handler.stream(request, as: caller, progress: progress)
        }
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        switch self {
        case .engine(let engine): try engine.subscribe(handler)
        case .deferred(let keychain): try keychain.subscribe(handler)
        case .service(let client): try client.subscribe(handler)
        case .substitute(let substitute): try substitute.subscribe(handler)
        }
    }

    /// Closes the keychain of `engine` if its write-ahead log is long. Does nothing for the other
    /// cases.
    package func closeIfLogIsLong() {
        if case .engine(let engine) = self { engine.closeIfLogIsLong() }
    }

    /// Closes the keychain if this process has it open.
    package func close() {
        switch self {
        case .engine(let engine): engine.close()
        case .deferred(let keychain): keychain.close()
        case .service, .substitute: break
        }
    }
}

/// A keychain that this process uses, and the caller's access groups. It contains no proof that the
/// user was authenticated.
package typealias ProcessConnection = KeychainConnection<KeychainHandler>
