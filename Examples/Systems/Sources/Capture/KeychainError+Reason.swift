// The ways in which an operation on a device's keys can fail, as this app tells them apart.

public import Keychain

extension KeychainError {
    /// Why an operation of ``KeychainService`` failed.
    ///
    /// ```swift
    /// } catch let error as KeychainError where error.reason == .decodingFailed {
    ///     // The stored state is kept.
    /// }
    /// ```
    public enum Reason: CaseIterable, Sendable {
        /// The item was not saved: the keychain is locked or the disk full, for instance.
        case saveFailed
        /// The item could not be read, and is still there.
        case loadFailed
        /// The item could not be deleted, and is still there.
        case deleteFailed
        /// There is no such item where there has to be one.
        case itemNotFound
        /// There is such an item already.
        case duplicateItem
        /// Bytes or a key have the wrong form or size.
        case invalidData
        /// The value could not be turned into bytes.
        case encodingFailed
        /// The stored bytes are no value of this type.
        case decodingFailed
        /// There is no Secure Enclave.
        case secureEnclaveUnavailable
        /// The keychain reported a status that nobody knows.
        case unexpectedStatus
    }

    /// Why the operation failed.
    public var reason: Reason {
        switch code {
        case .itemNotFound: .itemNotFound
        case .duplicateItem: .duplicateItem
        case .invalidData, .invalidKey, .dataConversionFailed, .decryptionFailed: .invalidData
        case .encodingFailed: .encodingFailed
        case .decodingFailed: .decodingFailed
        case .secureEnclaveUnavailable: .secureEnclaveUnavailable
        case _ where code.isUnexpected: .unexpectedStatus
        default:
            switch operation {
            case .save: .saveFailed
            case .load, .list: .loadFailed
            case .delete: .deleteFailed
            default: .unexpectedStatus
            }
        }
    }

    /// The `OSStatus` that the keychain reported; nil if it reported none, as for a value that
    /// can't be decoded.
    public var status: Int32? {
        code.rawValue < 0 ? code.rawValue : nil
    }
}
