// AuthenticationOptions: what a caller says about authentication beside its request.

#if canImport(Darwin)
import KeychainAuthenticationDarwin
#endif

/// Who answers for the person, and whether the person may be asked.
package struct AuthenticationOptions: Sendable {
    /// nil: a context for this request alone.
    package var context: LAContext?
    /// Whether a person may be asked for what the context doesn't know.
    package var allowsQuestions = true
    /// Why, for the person. nil: as the context says.
    package var reason: String?

    package init() {}

    /// Whether the caller says nothing: each request has a context of its own, and may ask.
    package var isDefault: Bool { context == nil && allowsQuestions && reason == nil }

    /// The context that was given, or a new one that asks as these options say.
    package func makeContext() -> LAContext {
        if let context { return context }
        let context = LAContext()
        if let reason { context.localizedReason = reason }
        context.interactionNotAllowed = !allowsQuestions
        return context
    }
}
