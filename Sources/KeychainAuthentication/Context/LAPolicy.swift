// LAPolicy: the policies, operations, credential types and biometry types of a context, with
// Apple's numbers; the maximum reuse time; and the type of a pointer to an error.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// A rule for how the owner of the device proves presence. Here the keychain takes the place of the
/// device: the passcode is that of the keychain.
public enum LAPolicy: Int, Hashable, Sendable {
    /// Biometry only.
    case deviceOwnerAuthenticationWithBiometrics = 1

    /// Biometry or the passcode.
    case deviceOwnerAuthentication = 2

    /// A nearby paired device. This is not supported.
    case deviceOwnerAuthenticationWithCompanion = 3

    /// Biometry or a nearby paired device.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4

    /// The older name of ``deviceOwnerAuthenticationWithCompanion``.
    public static let deviceOwnerAuthenticationWithWatch = deviceOwnerAuthenticationWithCompanion

    /// The older name of ``deviceOwnerAuthenticationWithBiometricsOrCompanion``.
    public static let deviceOwnerAuthenticationWithBiometricsOrWatch =
        deviceOwnerAuthenticationWithBiometricsOrCompanion
}

/// The operation for which an access control is evaluated.
public enum LAAccessControlOperation: Int, Hashable, Sendable {
    /// Adding an item.
    case createItem = 0
    /// Reading the secret of an item.
    case useItem = 1
    /// Creating a key.
    case createKey = 2
    /// Signing with a key.
    case useKeySign = 3
    /// Decrypting with a key.
    case useKeyDecrypt = 4
    /// Performing a key exchange with a key.
    case useKeyKeyExchange = 5
}

/// A type of credential that can be set in a context, so that the context doesn't ask for it.
public enum LACredentialType: Int, Hashable, Sendable {
    /// The password of items with an access control that contains `applicationPassword`.
    case applicationPassword = 0
    /// The PIN of a smart card. Smart cards are not supported, so no context accepts it.
    case smartCardPIN = -3
}

/// A type of biometric hardware.
public enum LABiometryType: Int, Hashable, Sendable {
    /// No biometric hardware.
    case none = 0
    /// A fingerprint reader.
    case touchID = 1
    /// A camera for face recognition.
    case faceID = 2
    /// A camera for iris recognition.
    case opticID = 4
}

/// The maximum time for which an earlier authentication can be reused, in seconds.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// A pointer to which a function writes the error of a failure, or `nil`. The type has the same
/// name as in Apple's Foundation.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

#endif
