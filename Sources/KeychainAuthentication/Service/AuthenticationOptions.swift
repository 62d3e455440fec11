// AuthenticationOptions: the caller's settings for authentication, which accompany a request.

#if canImport(Darwin)
import KeychainAuthenticationDarwin
#endif

/// How the user is authenticated, and whether the user may be asked.
package struct AuthenticationOptions: Sendable {
    /// The context, or `nil` for a new context for each request.
    package var context: LAContext?
    /// Whether the user may be asked for proofs that the context does not have.
    package var allowsQuestions = true
    /// The reason to show to the user, or `nil` for the context's reason.
    package var reason: String?

    package init() {}

    /// Whether all settings have their defaults: each request has its own context and may ask the
    /// user.
    package var isDefault: Bool { context == nil && allowsQuestions && reason == nil }

    /// Returns the given context, or a new one with these settings.
    package func makeContext() -> LAContext {
        if let context { return context }
        let context = LAContext()
        if let reason { context.localizedReason = reason }
        context.interactionNotAllowed = !allowsQuestions
        return context
    }
}
