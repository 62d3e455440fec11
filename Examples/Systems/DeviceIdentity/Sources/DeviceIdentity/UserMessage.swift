// UserMessage: the messages that the user sees after a failure. The errors themselves contain the
// details for developers.

/// The messages of the app.
public enum UserMessage {
    /// The message for an error of the keychain, which can be locked or damaged, or can contain an
    /// item in an unexpected format.
    public static let secureStorage =
        "Unable to access secure storage. Please restart the app."
    /// The message for any other failure, such as a backend that doesn't respond.
    public static let unexpected = "An unexpected error occurred."

    /// The message for an error.
    ///
    /// - Parameter error: The error.
    /// - Returns: One of the two messages.
    public static func text(for error: any Error) -> String {
        error is KeychainError ? secureStorage : unexpected
    }
}
