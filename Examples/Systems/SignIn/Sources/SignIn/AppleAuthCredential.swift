// AppleAuthCredential: the result of a sign-in.
//   (1) No description or dump contains the identifier.

/// The result of a successful sign-in.
public struct AppleAuthCredential: Sendable {
    /// The opaque identifier of the user for this app, which is the same at each sign-in.
    public let user: String

    /// Creates a credential.
    ///
    /// - Parameter user: The identifier, which must not be empty.
    public init(user: String) {
        self.user = user
    }
}

extension AppleAuthCredential: CustomStringConvertible, CustomReflectable {
    /// The name of the type.
    public var description: String { "AppleAuthCredential" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
