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
/// The getter returns ``ObservableSecret/value``. The setter shows the new value immediately, in
/// every property for the same secret, and saves it in the background. If saving fails, the
/// previous value is restored and the error is in `$token.error`. If the value must be durable
/// before the program continues, use `try await $token.save(_:)`, which throws errors. The
/// projected value is the ``ObservableSecret``.
///
/// `nil` does not prove that there is no secret: the secret may not have been read yet, or its item
/// may be locked. Use `$token.state` to distinguish these cases, and `await $token.ready()` to wait
/// for the first read.
///
/// Changes are observable. In a class with `@Observable`, mark the property `@ObservationIgnored`,
/// because the property reports its changes itself.
@MainActor @propertyWrapper
public struct KeychainStored<Value: Sendable> {
    /// The secret with its state and error, and the methods that save and delete it.
    public let projectedValue: ObservableSecret<Value>

    /// Creates a property for a secret.
    ///
    /// - Parameters:
    ///   - key: The key of the secret.
    ///   - keychain: The keychain that contains the secret.
    public init(_ key: KeychainKey<Value>, in keychain: Keychain) {
        projectedValue = ObservableSecret(key, in: keychain)
    }

    /// The value, or `nil` if there is none, if it has not been read yet, or if it can't be read
    /// now.
    public var wrappedValue: Value? {
        get { projectedValue.value }
        nonmutating set { projectedValue.assign(newValue) }
    }
}
