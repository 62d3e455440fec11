// KeychainError.Code: what can go wrong.

extension KeychainError {
    /// What went wrong.
    ///
    /// Negative codes are what the keychain reported; the raw value is the `OSStatus` of
    /// Apple's `SecBase.h`, also if there is no name for it here: the code is open, since a
    /// system can report a status that this version has no name for. Positive codes are
    /// conditions that this package found itself.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The `OSStatus`, or a positive number.
        public let rawValue: Int32

        /// The code of a status.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        // MARK: Reported by the keychain

        /// The operation is not implemented here (`errSecUnimplemented`).
        public static let unimplemented = Code(rawValue: -4)
        /// There is no space left on the disk (`errSecDiskFull`).
        public static let diskFull = Code(rawValue: -34)
        /// Reading or writing failed (`errSecIO`).
        public static let ioError = Code(rawValue: -36)
        /// The request makes no sense (`errSecParam`). A fault of the program.
        public static let param = Code(rawValue: -50)
        /// There is not enough memory (`errSecAllocate`).
        public static let allocate = Code(rawValue: -108)
        /// A person was asked and said no (`errSecUserCanceled`).
        public static let userCanceled = Code(rawValue: -128)
        /// The keychain is not available: it could not be opened, or its structure is damaged
        /// (`errSecNotAvailable`). Nothing was changed.
        public static let notAvailable = Code(rawValue: -25291)
        /// The keychain can't be changed (`errSecReadOnly`).
        public static let readOnly = Code(rawValue: -25292)
        /// A passcode was wrong, or a person could not prove who they are (`errSecAuthFailed`).
        public static let authFailed = Code(rawValue: -25293)
        /// The file is no keychain (`errSecInvalidKeychain`).
        public static let invalidKeychain = Code(rawValue: -25295)
        /// There is such an item already (`errSecDuplicateItem`).
        public static let duplicateItem = Code(rawValue: -25299)
        /// There is no such item (`errSecItemNotFound`).
        ///
        /// No operation of ``Keychain`` fails with this: loading an absent item gives nil, and
        /// deleting one succeeds.
        public static let itemNotFound = Code(rawValue: -25300)
        /// Items of this class have no such attribute (`errSecNoSuchAttr`).
        public static let noSuchAttribute = Code(rawValue: -25303)
        /// There is no such class of items (`errSecNoSuchClass`).
        public static let noSuchClass = Code(rawValue: -25306)
        /// The device or the keychain is locked (`errSecInteractionNotAllowed`).
        ///
        /// The item is there as it was. Keep what you were about to save, and try again after
        /// unlock; never delete or recreate the item.
        public static let interactionNotAllowed = Code(rawValue: -25308)
        /// The keychain was written by a later version (`errSecWrongSecVersion`).
        public static let wrongVersion = Code(rawValue: -25310)
        /// The biometric enrollment changed since the item was made, and the item opens for that
        /// one only (`errSecDataNotAvailable`). Delete it, and get its data anew.
        public static let dataNotAvailable = Code(rawValue: -25316)
        /// The item is damaged: its bytes are not what was written (`errSecDecode`).
        ///
        /// Nothing was deleted. Not to be taken for ``decodingFailed``, where the bytes are
        /// whole and no value of the asked type.
        public static let decode = Code(rawValue: -26275)
        /// The keychain is at fault (`errSecInternal`).
        public static let internalError = Code(rawValue: -26276)
        /// The program lacks the entitlement for the access group (`errSecMissingEntitlement`).
        public static let missingEntitlement = Code(rawValue: -34018)

        // MARK: Found by this package

        /// Bytes are not of the form that is asked for, such as a key of the wrong size. If they
        /// were found in the keychain, they are in ``KeychainError/storedData``.
        public static let invalidData = Code(rawValue: 1)
        /// A value could not be turned into bytes. Nothing was stored.
        public static let encodingFailed = Code(rawValue: 2)
        /// The stored bytes could not be turned into a value. They are in
        /// ``KeychainError/storedData`` and still in the keychain.
        public static let decodingFailed = Code(rawValue: 3)
        /// The stored bytes are no UTF-8 text. They are in ``KeychainError/storedData`` and
        /// still in the keychain.
        public static let dataConversionFailed = Code(rawValue: 4)
        /// There is no Secure Enclave, or this program may not use it.
        public static let secureEnclaveUnavailable = Code(rawValue: 5)
        /// A key has a size that the operation can't use. A fault of the program.
        public static let invalidKey = Code(rawValue: 6)

        /// Whether this is a status that has no name here: an unexpected one.
        public var isUnexpected: Bool {
            Self.names[self] == nil
        }

        /// Matches an error of this code, so that a code can stand as a pattern after `catch`.
        public static func ~= (code: Code, error: any Error) -> Bool {
            (error as? KeychainError)?.code == code
        }
    }
}

extension KeychainError.Code: CustomStringConvertible {
    /// The name and the number, such as "interactionNotAllowed (-25308)".
    public var description: String {
        "\(Self.names[self] ?? "unexpected") (\(rawValue))"
    }

    static let names: [KeychainError.Code: String] = [
        .unimplemented: "unimplemented",
        .diskFull: "diskFull",
        .ioError: "ioError",
        .param: "param",
        .allocate: "allocate",
        .userCanceled: "userCanceled",
        .notAvailable: "notAvailable",
        .readOnly: "readOnly",
        .authFailed: "authFailed",
        .invalidKeychain: "invalidKeychain",
        .duplicateItem: "duplicateItem",
        .itemNotFound: "itemNotFound",
        .noSuchAttribute: "noSuchAttribute",
        .noSuchClass: "noSuchClass",
        .interactionNotAllowed: "interactionNotAllowed",
        .wrongVersion: "wrongVersion",
        .dataNotAvailable: "dataNotAvailable",
        .decode: "decode",
        .internalError: "internalError",
        .missingEntitlement: "missingEntitlement",
        .invalidData: "invalidData",
        .encodingFailed: "encodingFailed",
        .decodingFailed: "decodingFailed",
        .dataConversionFailed: "dataConversionFailed",
        .secureEnclaveUnavailable: "secureEnclaveUnavailable",
        .invalidKey: "invalidKey",
    ]
}
