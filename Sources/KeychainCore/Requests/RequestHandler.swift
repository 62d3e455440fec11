// RequestHandler: the one protocol between those who ask and whatever holds the items.
//   (1) There are three shapes: `perform` gives one answer, `stream` tells how far it is before it
//       answers, `subscribe` goes on until it is ended.
//   (2) Every call may come from many threads at once. A change is durable when the call returns.

/// Carries out requests for a caller, in this process or in another: callers can't tell.
package protocol RequestHandler: Sendable {
    /// Carries out a request.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - caller: Whose items the request may see. It says nothing in requests about the keychain
    ///     as a whole.
    /// - Returns: The request's answer.
    /// - Throws: Why it was not carried out. Nothing was changed then, but where the cause is
    ///   `interruption`.
    @discardableResult
    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer

    /// Carries out a request that takes long.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - caller: As for ``perform(_:as:)``.
    ///   - progress: Called now and then on the thread of the call. Where it returns false, the
    ///     request is given up.
    /// - Returns: The request's answer.
    /// - Throws: As ``perform(_:as:)``; `userCanceled` for a request that was given up.
    func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer

    /// Calls `handler` after every later change that this or another process made, and after this
    /// process was locked or unlocked: whatever was read before may be out of date.
    ///
    /// Several changes may be told of by one call, and a call may come without a change. The
    /// handler is called on any thread, also on that of a writer; it must not block.
    ///
    /// - Throws: `unimplemented` where the service can't tell.
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
    /// For services that don't tell how far they are.
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

/// A keychain and who speaks to it. The type says what the keychain is, so that a request passes no
/// existential on its way.
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
