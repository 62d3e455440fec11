// KeychainFailure: what went wrong, in the words of this app.

public import Keychain

/// What an error of the keychain means to the app.
///
/// ```swift
/// } catch let error as KeychainError {
///     switch KeychainFailure(error) {
///     case .saveFailed(KeychainError.Code.diskFull.rawValue): askForSpace()
///     …
/// ```
public enum KeychainFailure: Hashable, Sendable {
    /// Nothing was saved. With the `OSStatus`.
    case saveFailed(status: Int32)
    /// It isn't known what is there. With the `OSStatus`.
    case loadFailed(status: Int32)
    /// Nothing was deleted. With the `OSStatus`.
    case deleteFailed(status: Int32)
    /// A value can't be turned into bytes, or bytes are no text.
    case dataConversionFailed
    /// The bytes are no value of the asked type, such as an identifier.
    case unexpectedData
    /// There is no such item, and there has to be one.
    case itemNotFound

    /// The meaning of an error.
    public init(_ error: KeychainError) {
        self =
            switch (error.code, error.operation) {
            case (.dataConversionFailed, _), (.encodingFailed, _): .dataConversionFailed
            case (.invalidData, _), (.decodingFailed, _): .unexpectedData
            case (.itemNotFound, _): .itemNotFound
            case (let code, .load), (let code, .list): .loadFailed(status: code.rawValue)
            case (let code, .delete): .deleteFailed(status: code.rawValue)
            // To add, to change, to move here.
            case (let code, _): .saveFailed(status: code.rawValue)
            }
    }
}
