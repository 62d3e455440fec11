// RequestHandler: the protocol between the code that makes requests and the object that carries
// them out.
//   (1) There are three kinds of calls: `perform` returns one answer, `stream` reports progress
//       before it returns, and `subscribe` is in effect until the subscription ends.
//   (2) All functions can be called concurrently from any thread. A change to a keychain on disk is
//       durable when the call returns.

/// Carries out requests for a caller, in this process or in another process. Callers use it in the
/// same way in both cases.
package protocol RequestHandler: Sendable {
    /// Carries out a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - caller: The access groups whose items the request can see. It has no effect on requests
    ///     about the keychain as a whole.
    /// - Returns: The request's answer.
    /// - Throws: The reason why the request was not carried out. Nothing was changed then, unless
    ///   the cause is `interruption`.
    @discardableResult
    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer

    /// Carries out a request that takes long.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - caller: As for ``perform(_:as:)``.
    ///   - progress: Called from time to time on the thread of the call. If it returns `false`
    ///     before the work is done, the request is canceled.
    /// - Returns: The request's answer.
    /// - Throws: As ``perform(_:as:)``, and `userCanceled` if the request was canceled.
    func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer

    /// Calls `handler` after each later change by this or another process, and after the process
    /// that has the keychain open has locked or unlocked it. Data read earlier can then be out of
    /// date. A `SecItemHandler` reports only changes that it or another `SecItemHandler` of this
    /// process has made.
    ///
    /// One call can report several changes, and a call can occur without a change. The handler is
    /// called on any thread, including that of a writer, and must not block.
    ///
    /// - Throws: `unimplemented` if this request handler or the service can't report changes, or
    ///   the reason why the keychain can't be opened, the service can't be reached or the service
    ///   refuses the subscription; `notAvailable` if this process has no file descriptors or
    ///   threads left.
    func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription
}

extension RequestHandler {
    /// Carries out a request about the keychain as a whole.
    @discardableResult
    package func perform<R: GeneralRequest>(
        _ request: R
    ) throws(KeychainFailure) -> R.Answer {
        try perform(request, as: AccessGroups([]))
    }

    package func stream<R: StreamRequest>(
        _ request: R, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try stream(request, as: AccessGroups([]), progress: progress)
    }
}

extension RequestHandler {
    /// The implementation for handlers that don't report progress and can't cancel a request.
    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try perform(request, as: caller)
    }
}

extension RequestHandler where Self: RequestExecutor {
    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        try request.execute(on: self, as: caller)
    }

    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try request.execute(on: self, as: caller, progress: progress)
    }
}

/// A request handler together with a caller. The type of the handler is a parameter, so that a
/// request is not passed through an existential.
package struct KeychainConnection<Handler: RequestHandler>: Sendable {
    package let handler: Handler
    package let caller: AccessGroups

    package init(handler: Handler, caller: AccessGroups) {
        self.handler = handler
        self.caller = caller
    }

    /// Carries out a request for the caller.
    @discardableResult
    package func perform<R: Request>(_ request: R) throws(KeychainFailure) -> R.Answer {
        try handler.perform(request, as: caller)
    }
}
