// KeychainError.Code: the codes of errors.

extension KeychainError {
    /// The code of an error.
    ///
    /// A negative code is a status, usually one that the keychain reported. The raw value is the
    /// `OSStatus` from Apple's `SecBase.h`, even if this type declares no name for it: a system can
    /// report statuses that this version does not know. A positive code is a condition that has no
    /// status of its own and that this package detected.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The `OSStatus`, or a positive number for conditions that this package detected.
        public let rawValue: Int32

        /// Creates the code for a status.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        // MARK: Reported by the keychain

        /// The operation is not implemented on this platform (`errSecUnimplemented`).
        public static let unimplemented = Code(rawValue: -4)
        /// The disk is full (`errSecDiskFull`).
        public static let diskFull = Code(rawValue: -34)
        /// An input or output operation failed (`errSecIO`).
        public static let ioError = Code(rawValue: -36)
        /// A parameter of the request is invalid (`errSecParam`). This is an error in the program,
        /// its configuration or the user's input, such as a passcode that is too short.
        public static let param = Code(rawValue: -50)
        /// There is not enough memory (`errSecAllocate`).
        public static let allocate = Code(rawValue: -108)
        /// The user was asked and canceled (`errSecUserCanceled`).
        public static let userCanceled = Code(rawValue: -128)
        /// The keychain is not available: it or its service could not be opened or reached, it is
        /// bound to another machine, its structure is damaged, or it lacks the hardware that the
        /// operation needs (`errSecNotAvailable`). Nothing was changed, unless the cause is
        /// ``KeychainError/Cause/interruption``.
        public static let notAvailable = Code(rawValue: -25291)
        /// The keychain can't be changed (`errSecReadOnly`).
        public static let readOnly = Code(rawValue: -25292)
        /// A passcode or password is wrong or missing, or the user could not be authenticated
        /// (`errSecAuthFailed`).
        public static let authFailed = Code(rawValue: -25293)
        /// A file of the keychain is not valid, or was created with another device key, or the
        /// device key is sealed by the hardware of another machine (`errSecInvalidKeychain`).
        public static let invalidKeychain = Code(rawValue: -25295)
        /// The item already exists (`errSecDuplicateItem`).
        public static let duplicateItem = Code(rawValue: -25299)
        /// The item does not exist (`errSecItemNotFound`).
        ///
        /// No operation of ``Keychain`` fails with this code: loading an item that does not exist
        /// returns `nil`, and deleting it succeeds. On Apple platforms, using a
        /// ``Keychain/SecureEnclaveKey`` can, if the key was deleted.
        public static let itemNotFound = Code(rawValue: -25300)
        /// Items of this class don't have this attribute (`errSecNoSuchAttr`).
        public static let noSuchAttribute = Code(rawValue: -25303)
        /// The item class does not exist (`errSecNoSuchClass`).
        public static let noSuchClass = Code(rawValue: -25306)
        /// The device or the keychain is locked, or the user would have to be asked and can't be
        /// (`errSecInteractionNotAllowed`).
        ///
        /// Nothing was changed. This code does not mean that the item is absent: on Linux before
        /// the first unlock, it is unknown whether the item exists. Keep the value that you were
        /// about to save and retry after the unlock. Never delete or recreate the item.
        public static let interactionNotAllowed = Code(rawValue: -25308)
        /// The keychain was written by a later version, or the keychain service uses another
        /// version of the protocol (`errSecWrongSecVersion`).
        public static let wrongVersion = Code(rawValue: -25310)
        /// The biometric enrollment has changed since the item was created, and the item requires
        /// the original enrollment (`errSecDataNotAvailable`). Delete the item and obtain its data
        /// again.
        public static let dataNotAvailable = Code(rawValue: -25316)
        /// The item is damaged: its bytes differ from what was written (`errSecDecode`). This code
        /// is also reported if a recovery may have lost the item, or if a Secure Enclave key
        /// belongs to another keychain or other hardware.
        ///
        /// Nothing was deleted. Don't confuse this code with ``decodingFailed``, which means that
        /// the bytes are intact but are not a value of the requested type.
        public static let decode = Code(rawValue: -26275)
        /// The keychain has an internal error (`errSecInternal`).
        public static let internalError = Code(rawValue: -26276)
        /// The program lacks the entitlement for the access group, or may not administer the
        /// keychain (`errSecMissingEntitlement`).
        public static let missingEntitlement = Code(rawValue: -34018)

        // MARK: Detected by this package

        /// The bytes don't have the required format; for example, a key has the wrong size. If the
        /// bytes were loaded from the keychain, they are in ``KeychainError/storedData``.
        public static let invalidData = Code(rawValue: 1)
        /// The value could not be encoded. Nothing was stored.
        public static let encodingFailed = Code(rawValue: 2)
        /// The stored bytes could not be decoded. They are in ``KeychainError/storedData`` and stay
        /// in the keychain.
        public static let decodingFailed = Code(rawValue: 3)
        /// The stored bytes are not valid UTF-8. They are in ``KeychainError/storedData`` and stay
        /// in the keychain.
        public static let dataConversionFailed = Code(rawValue: 4)
        /// There is no Secure Enclave, or the program may not use it.
        public static let secureEnclaveUnavailable = Code(rawValue: 5)
        /// The operation can't use a key of this size. This is an error in the program.
        public static let invalidKey = Code(rawValue: 6)

        /// Whether this is a status that this type declares no name for.
        public var isUnexpected: Bool {
            Self.names[self] == nil
        }

        /// Matches an error with this code, so that a code can be used as a pattern after `catch`.
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
