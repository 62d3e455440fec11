// KeychainKey: the name of a secret, the type of its value, and its protection.

public import Foundation

/// The name of a secret together with the type of its value.
///
/// Declare each key once, where the whole program can see it, and refer to it by name:
///
/// ```swift
/// extension KeychainKey where Value == String {
///     static var token: Self { Self("token", accessibility: .whenUnlocked) }
/// }
///
/// extension KeychainKey where Value == DeviceState {  // any Codable type
///     static var deviceState: Self { Self("device.state") }
/// }
///
/// try keychain.save("s3cr3t", for: .token)
/// let state = try keychain.load(.deviceState)
/// ```
///
/// If the account is known only at run time, create the key from it:
///
/// ```swift
/// try keychain.save(password, for: KeychainKey(user.name))
/// let password = try keychain.load(KeychainKey<String>(user.name))
/// try keychain.delete(.account(user.name))
/// ```
///
/// A value is stored in its ``KeychainValue`` form if its type has one, and otherwise as JSON with
/// ISO 8601 dates. To store it in another form, specify `encode` and `decode`.
public struct KeychainKey<Value: Sendable>: Sendable {
    /// The account of the item (`kSecAttrAccount`). Accounts are compared byte for byte, so they
    /// differ if their case or Unicode normalization form differs.
    public let account: String

    /// The display name (`kSecAttrLabel`). If `nil`, a new item gets none and an existing item
    /// keeps its own.
    public let label: String?

    /// When the item can be read. If `nil`, the keychain's accessibility applies.
    public let accessibility: Keychain.Accessibility?

    /// The authentication that opening the secret requires, or `nil` if none is required.
    ///
    /// Saving over an existing item changes its access control to that of the key. To change or
    /// remove an access control, the user has to satisfy it.
    public let accessControl: Keychain.AccessControl?

    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value

    /// Creates a key whose values are stored in a custom form.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    ///   - encode: Converts a value to the bytes to store. An error that it throws becomes the
    ///     underlying error of a ``KeychainError`` with code ``KeychainError/Code/encodingFailed``.
    ///     If it throws a ``KeychainError``, that error's code is kept.
    ///   - decode: Converts stored bytes to a value. An error that it throws becomes the underlying
    ///     error of a ``KeychainError`` with code ``KeychainError/Code/decodingFailed``. If it
    ///     throws a ``KeychainError``, that error's code is kept.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil,
        encode: @escaping @Sendable (Value) throws -> Data,
        decode: @escaping @Sendable (Data) throws -> Value
    ) {
        self.account = account
        self.label = label
        self.accessibility = accessibility
        self.accessControl = accessControl
        self.encode = encode
        self.decode = decode
    }
}

// Swift chooses the most specific of the following initializers. A type that is both a
// `KeychainValue` and `Codable`, such as `String`, is therefore stored in its `KeychainValue` form.

extension KeychainKey where Value: KeychainValue {
    /// Creates a key whose values are stored in their ``KeychainValue`` form.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil
    ) {
        self.init(
            account, label: label, accessibility: accessibility, accessControl: accessControl,
            encode: { try $0.keychainData }, decode: { try Value(keychainData: $0) })
    }
}

extension KeychainKey where Value: Codable {
    /// Creates a key whose values are stored as JSON with ISO 8601 dates.
    ///
    /// Dates are stored with a precision of one second. If the type turns out at run time to be a
    /// ``KeychainValue``, its ``KeychainValue`` form is used instead, so that generic and
    /// non-generic code store the same bytes.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil
    ) {
        if let type = Value.self as? any KeychainValue.Type {
            self.init(
                account, label: label, accessibility: accessibility, accessControl: accessControl,
                encode: { value in
                    guard let value = value as? any KeychainValue else {
                        throw KeychainError(.encodingFailed)
                    }
                    return try value.keychainData
                },
                decode: { data in
                    guard let value = try type.init(keychainData: data) as? Value else {
                        throw KeychainError(.decodingFailed)
                    }
                    return value
                })
        } else {
            self.init(
                account, label: label, accessibility: accessibility, accessControl: accessControl,
                encode: { try JSONForm.encoder.encode($0) },
                decode: { try JSONForm.decoder.decode(Value.self, from: $0) })
        }
    }
}

extension KeychainKey where Value: Codable {
    /// Creates a key whose values are stored as JSON by custom coders.
    ///
    /// The coders are used even if the type is also a ``KeychainValue``. For formats other than
    /// JSON, specify `encode` and `decode`.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    ///   - encoder: Converts a value to JSON. Don't change the encoder afterwards, because it is
    ///     used from any thread.
    ///   - decoder: Converts JSON to a value. Don't change the decoder afterwards.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil,
        encoder: JSONEncoder, decoder: JSONDecoder
    ) {
        self.init(
            account, label: label, accessibility: accessibility, accessControl: accessControl,
            encode: { try encoder.encode($0) },
            decode: { try decoder.decode(Value.self, from: $0) })
    }
}

extension KeychainKey where Value: KeychainValue & Codable {
    /// Creates a key whose values are stored in their ``KeychainValue`` form.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil
    ) {
        self.init(
            account, label: label, accessibility: accessibility, accessControl: accessControl,
            encode: { try $0.keychainData }, decode: { try Value(keychainData: $0) })
    }
}

extension KeychainKey where Value == Data {
    /// Creates a key whose values are stored unchanged.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil
    ) {
        self.init(
            account, label: label, accessibility: accessibility, accessControl: accessControl,
            encode: { $0 }, decode: { $0 })
    }

    /// A key for the item of an account, regardless of the type of its value. Use it to delete the
    /// item, to read its attributes, and for other operations that need no value. Loading it
    /// returns the stored bytes.
    ///
    /// - Parameter account: The account of the item.
    /// - Returns: A key for the bytes of the item.
    public static func account(_ account: String) -> Self { Self(account) }
}

/// The JSON representation of `Codable` values.
enum JSONForm {
    /// Keys are sorted, so that the bytes don't depend on the order of a dictionary's elements.
    static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }()
}
