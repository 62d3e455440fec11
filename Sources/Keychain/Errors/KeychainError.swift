// KeychainError: the error of an operation that failed.
//   (1) No description, dump or reflection of an error contains a stored value, an account, a
//       service or the text of an underlying error. These values are available only as
//       `storedData`, `account`, `service` and `underlyingError`.
//   (2) The `code` of an error that the keychain reported is its `OSStatus`, unchanged, except that
//       `unimplemented` becomes `secureEnclaveUnavailable` in operations on Secure Enclave keys.

public import Foundation

/// The error that a failed keychain operation throws.
///
/// Distinguish errors by their ``code-swift.property``, either in a `where` clause or by using the
/// code as a pattern:
///
/// ```swift
/// do {
///     token = try keychain.load(.token)
/// } catch KeychainError.Code.interactionNotAllowed {
///     // Locked, which doesn't mean that the item is absent. Try again after unlock.
/// } catch where error.code == .decodingFailed {
///     // The stored bytes are in error.storedData, and still in the keychain.
/// }
/// ```
///
/// A synchronous operation throws only this type, as its signature states, except that an operation
/// that takes a closure also throws the errors of the closure. An `async` operation can also throw
/// `CancellationError`. For an operation that takes a closure or is `async`, use the pattern
/// `catch let error as KeychainError`.
///
/// An operation that throws has changed nothing, unless its documentation says otherwise or the
/// ``cause-swift.property`` is ``Cause/interruption``, in which case it may have made the change.
/// Printing or dumping an error shows neither values nor the names of items.
public struct KeychainError: Error, Sendable {
    /// The code of the error.
    public var code: Code

    /// The operation that failed, if it is known.
    public var operation: Operation?

    /// The service of the item or items or, for internet passwords, the host of their server. It is
    /// not part of the description.
    public var service: String?

    /// The account of the item, or `nil` if the operation applies to several items. It is not part
    /// of the description.
    public var account: String?

    /// The error that caused this one. Its text is not part of the description, because the error
    /// of a decoder can quote its input. The errors of Swift's coders are kept without the details
    /// that could contain a value.
    public var underlyingError: (any Error)?

    /// The stored bytes that are not a value of the requested type. They are a secret: don't log
    /// them.
    ///
    /// This property is set only if a stored value was found but could not be decoded. The value
    /// stays in the keychain, unchanged.
    public var storedData: Data?

    /// The reason, without names or values, if more is known than the code says. If a remedy is
    /// known for this reason, further sentences state it.
    var detail: String?

    /// The cause that the keychain reported, or `nil` if it reported only the code.
    var reportedCause: Cause?

    /// Creates an error.
    ///
    /// Throw an error from ``KeychainValue/init(keychainData:)`` to choose the code that the caller
    /// receives. The operation, service and account are filled in for you.
    ///
    /// - Parameters:
    ///   - code: The code of the error.
    ///   - operation: The operation that failed.
    ///   - service: The service of the item.
    ///   - account: The account of the item.
    ///   - underlyingError: The error that caused this one.
    public init(
        _ code: Code, operation: Operation? = nil, service: String? = nil,
        account: String? = nil, underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.operation = operation
        self.service = service
        self.account = account
        self.underlyingError = underlyingError
    }
}

extension KeychainError {
    /// The operation that failed.
    ///
    /// Only the operations declared here exist. This type is a structure rather than an enumeration
    /// so that a later version can add operations without breaking `switch` statements.
    public struct Operation: Hashable, Sendable, CustomStringConvertible {
        /// The name of the operation, such as "load".
        public let rawValue: String

        private init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Saving or adding a value, or creating a Secure Enclave key.
        public static let save = Operation(rawValue: "save")
        /// Loading a value or Secure Enclave key, or checking whether one exists or can be read, or
        /// whether a Secure Enclave is available.
        public static let load = Operation(rawValue: "load")
        /// Deleting one item, all items or a Secure Enclave key.
        public static let delete = Operation(rawValue: "delete")
        /// Listing items or reading the attributes of an item.
        public static let list = Operation(rawValue: "list")
        /// Changing a value based on its current value.
        public static let update = Operation(rawValue: "update")
        /// Locking, unlocking or checking a database, reading its status, or setting, changing or
        /// removing its passcode.
        public static let administer = Operation(rawValue: "administer")
        /// Moving a value into a keychain.
        public static let migrate = Operation(rawValue: "migrate")
        /// Signing with a Secure Enclave key.
        public static let sign = Operation(rawValue: "sign")
        /// Computing a shared secret with a Secure Enclave key.
        public static let agree = Operation(rawValue: "agree")

        /// The raw value.
        public var description: String { rawValue }
    }
}
