// KeychainStored: a property whose value is a secret in the keychain.

/// A property whose value is a secret in the keychain.
///
/// ```swift
/// @MainActor final class Session {
///     @KeychainStored(.token, in: keychain) var token: String?
///
///     func signOut() { token = nil }
///     func signIn(with token: String) async throws { try await $token.save(token) }
/// }
/// ```
///
/// Reading gives ``ObservableSecret/value``. Assigning shows the value at once, to every property of
/// the same secret, and saves it in the background: a failure brings the former value back, and is
/// in `$token.error`. Where a value must be durable before the program goes on, use
/// `try await $token.save(_:)`, which also throws. The projected value is the ``ObservableSecret``.
///
/// nil is no proof that there is no secret; it may not be known yet, or the item may be locked.
/// `$token.state` tells them apart, and `await $token.ready()` waits for the first look.
///
/// Changes are observable. In a class with `@Observable`, write `@ObservationIgnored` before it:
/// the property is observed by itself.
@MainActor @propertyWrapper
public struct KeychainStored<Value: Sendable> {
    /// The secret with its state, its error, and the calls that save and delete it.
    public let projectedValue: ObservableSecret<Value>

    /// A property for a secret.
    ///
    /// - Parameters:
    ///   - key: The name of the secret.
    ///   - keychain: Where it is kept.
    public init(_ key: KeychainKey<Value>, in keychain: Keychain) {
        projectedValue = ObservableSecret(key, in: keychain)
    }

    /// The value; nil if there is none, or if it is not known now.
    public var wrappedValue: Value? {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }
}
