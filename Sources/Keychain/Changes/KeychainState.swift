// KeychainState: what is known of one secret at a moment.

/// What is known of one secret at a moment: its value, that there is none, or why that can't be
/// told.
///
/// "Locked" is not "absent". A program that takes an unavailable secret for a missing one signs
/// its user out, or makes a new key over one that is still there:
///
/// ```swift
/// switch state {
/// case .value(let token): session = .signedIn(token)
/// case .absent: session = .signedOut
/// case .unavailable: break  // Wait; what it is will be told.
/// }
/// ```
public enum KeychainState<Value: Sendable>: Sendable {
    /// The value.
    case value(Value)

    /// There is no value.
    case absent

    /// Whether there is a value, or which, can't be told now; the error says why. With code
    /// ``KeychainError/Code/interactionNotAllowed`` the item is locked, and there.
    case unavailable(KeychainError)

    /// The value, if there is one and it is known.
    public var value: Value? {
        if case .value(let value) = self { return value }
        return nil
    }

    /// Why the value isn't known, if it isn't.
    public var error: KeychainError? {
        if case .unavailable(let error) = self { return error }
        return nil
    }
}

extension KeychainState: CustomStringConvertible, CustomReflectable {
    /// The name of the case and, for an error, its description. Never the value.
    public var description: String {
        switch self {
        case .value: "value"
        case .absent: "absent"
        case .unavailable(let error): "unavailable: \(error)"
        }
    }

    /// The description alone, so that a dump doesn't show the value.
    public var customMirror: Mirror {
        Mirror(self, children: ["state": description])
    }
}

extension KeychainState {
    /// Whether this tells the same as another. Errors are told apart by their codes.
    func isSame(_ other: Self, _ isSame: (Value, Value) -> Bool) -> Bool {
        switch (self, other) {
        case (.value(let one), .value(let other)): isSame(one, other)
        case (.absent, .absent): true
        case (.unavailable(let one), .unavailable(let other)): one.code == other.code
        default: false
        }
    }
}
