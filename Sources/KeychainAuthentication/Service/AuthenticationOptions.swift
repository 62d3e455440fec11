// AuthenticationOptions: what a caller says about authentication beside its request.

#if !canImport(Darwin)

/// Who answers for the person, and whether the person may be asked.
package struct AuthenticationOptions: Sendable {
    /// nil: a context for this request alone.
    package var context: LAContext?
    /// Whether a person may be asked for what the context doesn't know.
    package var allowsQuestions = true
    /// Why, for the person. nil: as the context says.
    package var reason: String?

    package init() {}
}

#endif
