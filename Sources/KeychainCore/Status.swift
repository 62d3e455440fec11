// Status: the result codes of the engine and the facades, with Apple's numbers.

/// A result code. The raw value is Apple's `OSStatus`. Apple's `SecBase.h` defines all these values
/// except those of ``internalError`` and ``authenticationNeeded``, which are in `SecBasePriv.h`.
package struct Status: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let unimplemented = Status(rawValue: -4)
    package static let diskFull = Status(rawValue: -34)
    package static let ioError = Status(rawValue: -36)
    package static let param = Status(rawValue: -50)
    package static let allocate = Status(rawValue: -108)
    package static let userCanceled = Status(rawValue: -128)
    package static let unsupportedFormat = Status(rawValue: -25256)
    package static let unknownFormat = Status(rawValue: -25257)
    package static let multiplePrivateKeys = Status(rawValue: -25259)
    package static let passphraseRequired = Status(rawValue: -25260)
    package static let pkcs12VerifyFailure = Status(rawValue: -25264)
    package static let notAvailable = Status(rawValue: -25291)
    package static let readOnly = Status(rawValue: -25292)
    package static let authFailed = Status(rawValue: -25293)
    package static let invalidKeychain = Status(rawValue: -25295)
    package static let duplicateItem = Status(rawValue: -25299)
    package static let itemNotFound = Status(rawValue: -25300)
    package static let noSuchAttribute = Status(rawValue: -25303)
    package static let noSuchClass = Status(rawValue: -25306)
    package static let interactionNotAllowed = Status(rawValue: -25308)
    package static let wrongVersion = Status(rawValue: -25310)
    package static let dataNotAvailable = Status(rawValue: -25316)
    /// `errSecAuthNeeded` of Apple's sources. It is used only between the engine and its clients:
    /// the facade or tool authenticates the user and retries.
    package static let authenticationNeeded = Status(rawValue: -25330)
    package static let decode = Status(rawValue: -26275)
    package static let internalError = Status(rawValue: -26276)
    package static let missingEntitlement = Status(rawValue: -34018)
}
