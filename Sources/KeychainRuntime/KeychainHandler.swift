// KeychainHandler: the keychains that a process can speak to, as one closed type.
//   (1) A request reaches the engine without a call through an existential: the type is switched over,
//       and the engine's overload is picked by the request's own type.

package import KeychainEngine
package import KeychainCore

package enum KeychainHandler: RequestHandler {
    /// This process opened it.
    case engine(KeychainEngine)
    /// The first change makes it, in this process.
    case deferred(DeferredKeychain)
    /// A service has it open.
    case service(ServiceClient)
    /// What a test puts in their place.
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

    /// Closes the keychain, where this process has it open and its log is long.
    package func closeIfLogIsLong() {
        if case .engine(let engine) = self { engine.closeIfLogIsLong() }
    }

    /// Closes the keychain, where this process has it open.
    package func close() {
        switch self {
        case .engine(let engine): engine.close()
        case .deferred(let keychain): keychain.close()
        case .service, .substitute: break
        }
    }
}

/// A keychain of this process and who speaks to it, with no person in front.
package typealias ProcessConnection = KeychainConnection<KeychainHandler>
