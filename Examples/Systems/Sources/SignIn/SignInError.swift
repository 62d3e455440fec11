// SignInError: why the keychain didn't do what the app asked for.

public import KeychainServices

/// An error of the keychain, as data. It holds no secret.
public struct SignInError: Error, Hashable, Sendable {
    /// What was to be done.
    public enum Operation: String, Sendable {
        /// Saving.
        case save
        /// Reading, or looking whether there is anything.
        case read
        /// Deleting.
        case delete
    }

    /// What was to be done.
    public let operation: Operation

    /// What the keychain answered.
    public let status: OSStatus

    /// An error with a status.
    public init(_ operation: Operation, _ status: OSStatus) {
        self.operation = operation
        self.status = status
    }

    /// Whether the device is locked. Everything is there; try again after unlock.
    public var isLocked: Bool { status == errSecInteractionNotAllowed }
}

extension SignInError: LocalizedError {
    /// The system's text for the status, with its number.
    public var errorDescription: String? {
        let text = SecCopyErrorMessageString(status, nil) as String? ?? "Unknown."
        return "Could not \(operation.rawValue) the sign-in: \(text) (\(status))"
    }
}
