// KeychainKey: the name of a secret, the type of its value and how it is protected.

public import Foundation

/// The name of a secret together with the type of its value.
///
/// Declare each key once, where the whole program finds it, and use it by its name:
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
/// Where the account is known only when the program runs, make the key of it:
///
/// ```swift
/// try keychain.save(password, for: KeychainKey(user.name))
/// let password = try keychain.load(KeychainKey<String>(user.name))
/// try keychain.delete(.account(user.name))
/// ```
///
/// A value is stored as its ``KeychainValue`` form if its type has one, otherwise as JSON with
/// ISO 8601 dates. Give `encode` and `decode` to store it as anything else.
public struct KeychainKey<Value: Sendable>: Sendable {
    /// Whose item it is (`kSecAttrAccount`). Compared byte for byte: case counts, and so does
    /// the Unicode form.
    public let account: String

    /// A name for people (`kSecAttrLabel`). nil: a new item gets none, a present one keeps its.
    public let label: String?

    /// When the item can be read. nil: as the keychain says.
    public let accessibility: Keychain.Accessibility?

    /// What has to be shown before the secret is opened. nil: nothing.
    ///
    /// A save brings an item that is there to the access control of the key. To change or take away
    /// the one that it has, a person has to satisfy that.
    public let accessControl: Keychain.AccessControl?

    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value

    /// A key whose values are stored in a form of your own.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
    ///   - encode: Turns a value into the bytes to store. What it throws becomes the underlying
    ///     error of a ``KeychainError`` with code ``KeychainError/Code/encodingFailed``.
    ///   - decode: Turns stored bytes into a value. What it throws becomes the underlying error
    ///     of a ``KeychainError`` with code ``KeychainError/Code/decodingFailed``, unless it is
    ///     a ``KeychainError`` itself; then its code is kept.
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

// Swift picks the most specific of the following: a type that is both a `KeychainValue` and
// `Codable`, as `String` is, is stored in its `KeychainValue` form.

extension KeychainKey where Value: KeychainValue {
    /// A key whose values are stored in their ``KeychainValue`` form.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
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
    /// A key whose values are stored as JSON with ISO 8601 dates.
    ///
    /// Dates are stored to the second. If the type turns out to be a ``KeychainValue`` when the
    /// program runs, that form is used, so that generic code and plain code agree.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
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
    /// A key whose values are stored by coders of your own.
    ///
    /// They are used whatever forms the type has besides. For coders other than JSON's, give
    /// `encode` and `decode`.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
    ///   - encoder: Turns a value into JSON. Don't change it afterwards: it is used from any
    ///     thread.
    ///   - decoder: Turns JSON into a value. Don't change it afterwards.
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
    /// A key whose values are stored in their ``KeychainValue`` form.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
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
    /// A key whose values are stored as they are.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil
    ) {
        self.init(
            account, label: label, accessibility: accessibility, accessControl: accessControl,
            encode: { $0 }, decode: { $0 })
    }

    /// The item of an account, whatever its type: for deleting it, for its attributes, and for
    /// whatever else needs no value. Loaded, it is the stored bytes.
    ///
    /// - Parameter account: The account of the item.
    /// - Returns: The key of its bytes.
    public static func account(_ account: String) -> Self { Self(account) }
}

/// The JSON form of `Codable` values.
enum JSONForm {
    /// Sorted keys: equal values give equal bytes.
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
