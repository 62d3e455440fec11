// AuthenticationOptions: what a caller says about authentication beside its request.

#if !canImport(Darwin)

/// Who answers for the person, and whether the person may be asked.
package struct AuthenticationOptions: Sendable {
    /// nil: a context for this request alone.
    package var context: LAContext?
    /// Whether a person may be asked for what the context doesn't know.
    package var allowsQuestions = true
    /// Whether a search leaves out what the context doesn't open. No question is asked then.
    package var skipsConstrained = false
    /// Why, for the person. nil: as the context says.
    package var reason: String?

    package init() {}
}

#endif
