// KeychainState: the state of one secret as far as it is known.

/// The state of a secret: its value, its absence, or the reason that neither is known.
///
/// "Locked" is not "absent". A program that mistakes an unavailable secret for a missing one signs
/// its user out, or replaces a key that still exists. Handle `unavailable` and `absent` separately:
///
/// ```swift
/// switch state {
/// case .value(let token): session = .signedIn(token)
/// case .absent: session = .signedOut
/// case .unavailable: break  // Unknown: wait for the next state.
/// }
/// ```
public enum KeychainState<Value: Sendable>: Sendable {
    /// The value.
    case value(Value)

    /// There is no value.
    case absent

    /// The keychain can't return the value, or the stored bytes are not a value of this type; the
    /// error contains the reason. Code ``KeychainError/Code/interactionNotAllowed`` means that the
    /// item is locked or requires authentication. On Linux before the first unlock, an item that
    /// doesn't exist can lead to the same code.
    case unavailable(KeychainError)

    /// The value, or `nil` if it is absent or unavailable.
    public var value: Value? {
        if case .value(let value) = self { return value }
        return nil
    }

    /// The reason that the value is unavailable, or `nil` if the value or its absence is known.
    public var error: KeychainError? {
        if case .unavailable(let error) = self { return error }
        return nil
    }
}

extension KeychainState: CustomStringConvertible, CustomReflectable {
    /// The name of the case and, for an error, its description. The value is never included.
    public var description: String {
        switch self {
        case .value: "value"
        case .absent: "absent"
        case .unavailable(let error): "unavailable: \(error)"
        }
    }

    /// Contains only the description, so that a dump doesn't show the value.
    public var customMirror: Mirror {
        Mirror(self, children: ["state": description])
    }
}

extension KeychainState {
    /// Whether two states are the same. Values are compared with the closure, errors by their
    /// codes.
    func isSame(_ other: Self, _ isSame: (Value, Value) -> Bool) -> Bool {
        switch (self, other) {
        case (.value(let one), .value(let other)): isSame(one, other)
        case (.absent, .absent): true
        case (.unavailable(let one), .unavailable(let other)): one.code == other.code
        default: false
        }
    }
}
