// UserMessage: what the user is told when something goes wrong. What to do about it in detail is
// in the errors, for developers.

/// The messages of the app.
public enum UserMessage {
    /// The keychain could not be used: it is locked or damaged, or its item has another form.
    public static let secureStorage =
        "Unable to access secure storage. Please restart the app."
    /// Anything else, such as a backend that doesn't answer.
    public static let unexpected = "An unexpected error occurred."

    /// The message for an error.
    ///
    /// - Parameter error: The error.
    /// - Returns: One of the two.
    public static func text(for error: any Error) -> String {
        error is KeychainError ? secureStorage : unexpected
    }
}
