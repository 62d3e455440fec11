// Keychain+Authenticating: controls how a keychain's operations authenticate the user. Each of
// these methods changes one setting and keeps the others.

public import KeychainAuthentication

extension Keychain {
    /// Returns a copy of this keychain that authenticates the user with a context.
    ///
    /// ```swift
    /// let context = LAContext()
    /// context.localizedReason = "show your notes"
    /// let vault = keychain.authenticating(with: context)
    /// let password = try await vault.load(.masterPassword)  // asks
    /// let key = try await vault.load(.notesKey)  // the context remembers
    /// ```
    ///
    /// The context remembers an earlier authentication and an application password that was set as
    /// its credential, and the user is not asked for these again. For any other condition of an
    /// ``AccessControl``, the context asks the user, showing its `localizedReason`, unless its
    /// `interactionNotAllowed` is set or the keychain is one that never asks (see
    /// ``withoutInteraction``).
    ///
    /// On Linux, the user is asked at the terminal or through pinentry; on Apple platforms, by the
    /// system. Because the operation waits for the user's response, prefer the `async` forms.
    ///
    /// Operations that follow an item, or only check whether it can be read, never ask the user:
    /// `changes(of:)`, `availability(of:)`, `waitUntilAvailable(_:)`, and ``ObservableSecret``
    /// until it saves. On Linux, they use the authentication that the context remembers; on Apple
    /// platforms, they don't use the context.
    ///
    /// - Parameter context: The authentication context. It can be used by several keychains, from
    ///   any thread.
    /// - Returns: A keychain for the same items.
    ///
    /// The corresponding key is `kSecUseAuthenticationContext`.
    public func authenticating(with context: LAContext) -> Keychain {
        var options = database.authentication
        options.context = context
        return with(options)
    }

    /// Returns a copy of this keychain that shows a reason when it asks the user for
    /// authentication.
    ///
    /// Each operation asks again for the authentication that an ``AccessControl`` requires. A
    /// keychain without a context or reason does the same, but shows only the program's name. If a
    /// context was passed to `authenticating(with:)`, it still remembers authentication. On Linux,
    /// `reason` is then shown instead of the context's reason; on Apple platforms, it is ignored.
    ///
    /// - Parameter reason: The reason to show to the user, such as "show your notes".
    /// - Returns: A keychain for the same items.
    ///
    /// The corresponding property is `localizedReason` of `LAContext`.
    public func authenticating(reason: String) -> Keychain {
        var options = database.authentication
        options.reason = reason
        return with(options)
    }

    /// A copy of this keychain that never asks the user for authentication.
    ///
    /// Except on Apple platforms, a context that was passed to `authenticating(with:)` still
    /// provides the authentication that it remembers. An operation that would have to ask the user
    /// fails immediately with ``KeychainError/Code/interactionNotAllowed`` and changes nothing.
    ///
    /// The corresponding property is `interactionNotAllowed` of `LAContext`.
    public var withoutInteraction: Keychain {
        var options = database.authentication
        options.allowsQuestions = false
        return with(options)
    }

    /// A copy of this keychain with one context, so that several requests for an item ask the user
    /// only once.
    var inOneContext: Keychain { authenticating(with: database.authentication.makeContext()) }

    private func with(_ options: AuthenticationOptions) -> Keychain {
        var keychain = self
        keychain.database.authentication = options
        return keychain
    }
}
