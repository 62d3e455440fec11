// KeychainError: why an operation was not carried out.
//   (1) No description, dump or reflection of an error holds a stored value, an account, a
//       service or the text of an underlying error. They are there, in properties that say so.
//   (2) `code` of an error that the keychain reported is its `OSStatus`, unchanged.

public import Foundation

/// The error of every keychain operation.
///
/// Tell errors apart by ``code-swift.property``, in a `where` clause or with the code as the
/// pattern:
///
/// ```swift
/// do {
///     token = try keychain.load(.token)
/// } catch KeychainError.Code.interactionNotAllowed {
///     // The device is locked. The item is there; try again after unlock.
/// } catch where error.code == .decodingFailed {
///     // The stored bytes are in error.storedData, and still in the keychain.
/// }
/// ```
///
/// A synchronous operation throws nothing else, and says so in its type, unless it calls a
/// closure of yours. An `async` operation can also throw `CancellationError`: there the pattern is
/// `catch let error as KeychainError`.
///
/// An operation that throws has changed nothing, unless its documentation says otherwise or the
/// ``cause-swift.property`` is ``Cause/interruption``: then it may have made the change.
/// Printing or dumping an error shows neither values nor the names of items.
public struct KeychainError: Error, Sendable {
    /// What went wrong.
    public var code: Code

    /// What was to be done, where it is known.
    public var operation: Operation?

    /// The service of the item or items or, of internet passwords, the host of their server. Not part
    /// of the description.
    public var service: String?

    /// The account of the item. nil if the operation is about more than one. Not part of the
    /// description.
    public var account: String?

    /// The error that led to this one. Its text is not part of the description: an error of a
    /// decoder can quote what it was given.
    public var underlyingError: (any Error)?

    /// The stored bytes that are no value of the asked type. They are a secret: don't log them.
    ///
    /// Only there if a stored value was found and could not be decoded. The keychain still has
    /// it, unchanged.
    public var storedData: Data?

    /// What happened, in a sentence that holds no name and no value, where more is known than
    /// the code says.
    var detail: String?

    /// What the keychain said of the cause. nil: no more than the code says.
    var reportedCause: Cause?

    /// An error.
    ///
    /// Throw one from ``KeychainValue/init(keychainData:)`` to choose the code that the caller
    /// gets; operation, service and account are filled in for you.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - operation: What was to be done.
    ///   - service: The service of the item.
    ///   - account: The account of the item.
    ///   - underlyingError: The error that led to this one.
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
    /// What was to be done when an error came up.
    ///
    /// Only the named operations exist. It is a structure and no enumeration, so that a later
    /// version can add one without breaking a `switch`.
    public struct Operation: Hashable, Sendable, CustomStringConvertible {
        /// The operation in a word, such as "load".
        public let rawValue: String

        private init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Saving or adding a value.
        public static let save = Operation(rawValue: "save")
        /// Loading a value or looking whether there is one.
        public static let load = Operation(rawValue: "load")
        /// Deleting one item or all.
        public static let delete = Operation(rawValue: "delete")
        /// Listing items or reading the attributes of one.
        public static let list = Operation(rawValue: "list")
        /// Changing a value that depends on the present one.
        public static let update = Operation(rawValue: "update")
        /// Opening, locking, unlocking or checking a database, or changing its passcode.
        public static let administer = Operation(rawValue: "administer")
        /// Moving a value into a keychain.
        public static let migrate = Operation(rawValue: "migrate")
        /// Signing with a key of the Secure Enclave.
        public static let sign = Operation(rawValue: "sign")
        /// Agreeing on a secret with a key of the Secure Enclave.
        public static let agree = Operation(rawValue: "agree")

        /// The raw value.
        public var description: String { rawValue }
    }
}
