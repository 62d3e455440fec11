// How a keychain's operations ask the person in front of the program. What was said by one of these
// stays when another is used.

public import KeychainAuthentication

extension Keychain {
    /// The same keychain, whose operations let a context answer for the person.
    ///
    /// ```swift
    /// let context = LAContext()
    /// context.localizedReason = "show your notes"
    /// let vault = keychain.authenticating(with: context)
    /// let password = try await vault.load(.masterPassword)  // asks
    /// let key = try await vault.load(.notesKey)  // the context remembers
    /// ```
    ///
    /// What the context knows isn't asked for again: a proof that it got before, and the application
    /// password that was set as its credential. Whatever else an ``AccessControl`` demands it asks the
    /// person for, with its `localizedReason`, unless its `interactionNotAllowed` is set.
    ///
    /// The question is asked at the terminal or by pinentry on Linux, and by the system on Apple
    /// platforms. It can take as long as the person takes: prefer the `async` forms.
    ///
    /// What follows an item, or only looks whether it can be read, never asks, and doesn't use the
    /// context: `changes(of:)`, ``ObservableSecret`` until it saves, `availability(of:)`.
    ///
    /// - Parameter context: Answers for the person. It can be used by several keychains, from any
    ///   thread.
    /// - Returns: A keychain for the same items.
    ///
    /// The corresponding key is `kSecUseAuthenticationContext`.
    public func authenticating(with context: LAContext) -> Keychain {
        var options = database.authentication
        options.context = context
        return with(options)
    }

    /// The same keychain, whose operations say why they ask.
    ///
    /// Each operation asks anew for what an ``AccessControl`` demands. So does a keychain of which
    /// nothing was said; it shows the program's name alone.
    ///
    /// - Parameter reason: Why, for the person to read: "show your notes".
    /// - Returns: A keychain for the same items.
    ///
    /// The corresponding property is `localizedReason` of `LAContext`.
    public func authenticating(reason: String) -> Keychain {
        var options = database.authentication
        options.reason = reason
        return with(options)
    }

    /// The same keychain, whose operations ask no person.
    ///
    /// A context that was given with `authenticating(with:)` still answers with what it knows, but not
    /// on Apple platforms.
    /// What would have to be asked for fails at once with
    /// ``KeychainError/Code/interactionNotAllowed``, and stays as it is.
    ///
    /// The corresponding property is `interactionNotAllowed` of `LAContext`.
    public var withoutInteraction: Keychain {
        var options = database.authentication
        options.allowsQuestions = false
        return with(options)
    }

    /// For several requests about an item, which are to ask once.
    var inOneContext: Keychain { authenticating(with: database.authentication.makeContext()) }

    private func with(_ options: AuthenticationOptions) -> Keychain {
        var keychain = self
        keychain.database.authentication = options
        return keychain
    }
}
