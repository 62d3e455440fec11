// UserMessage: the messages that the user sees after a failure. The errors themselves contain the
// details for developers.

/// The messages of the app.
public enum UserMessage {
    /// The keychain could not be used, because it is locked or damaged or its item has a different
    /// format.
    public static let secureStorage =
        "Unable to access secure storage. Please restart the app."
    /// Any other failure, such as a backend that doesn't respond.
    public static let unexpected = "An unexpected error occurred."

    /// The message for an error.
    ///
    /// - Parameter error: The error.
    /// - Returns: One of the two messages.
    public static func text(for error: any Error) -> String {
        error is KeychainError ? secureStorage : unexpected
    }
}
