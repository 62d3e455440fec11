// AppleAuthCredential: what a sign-in gives.
//   (1) No description or dump holds the identifier.

/// What a successful sign-in gives.
public struct AppleAuthCredential: Sendable {
    /// The identifier of the person for this app: opaque, and the same at each sign-in.
    public let user: String

    /// A credential.
    ///
    /// - Parameter user: The identifier, 1 character and up.
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
