// LAPolicy: what can be asked of a context, with Apple's numbers.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Ways for the owner of the device to prove to be present. Here the device is the keychain: its
/// passcode is the owner's.
public enum LAPolicy: Int, Hashable, Sendable {
    /// Biometry alone.
    case deviceOwnerAuthenticationWithBiometrics = 1

    /// Biometry or the passcode.
    case deviceOwnerAuthentication = 2

    /// A paired device nearby. There is none here.
    case deviceOwnerAuthenticationWithCompanion = 3

    /// Biometry or a paired device nearby.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4

    /// ``deviceOwnerAuthenticationWithCompanion`` under its older name.
    public static let deviceOwnerAuthenticationWithWatch = deviceOwnerAuthenticationWithCompanion

    /// ``deviceOwnerAuthenticationWithBiometricsOrCompanion`` under its older name.
    public static let deviceOwnerAuthenticationWithBiometricsOrWatch =
        deviceOwnerAuthenticationWithBiometricsOrCompanion
}

/// What an access control is evaluated for.
public enum LAAccessControlOperation: Int, Hashable, Sendable {
    /// An item is about to be added.
    case createItem = 0
    /// The secret of an item is about to be read.
    case useItem = 1
    /// A key is about to be made.
    case createKey = 2
    /// A key is about to sign.
    case useKeySign = 3
    /// A key is about to decrypt.
    case useKeyDecrypt = 4
    /// A key is about to take part in a key exchange.
    case useKeyKeyExchange = 5
}

/// What a context can be given in advance, so that it doesn't ask.
public enum LACredentialType: Int, Hashable, Sendable {
    /// The password of items whose access control says `applicationPassword`.
    case applicationPassword = 0
    /// The number that opens a smart card. No context takes it: there are no smart cards here.
    case smartCardPIN = -3
}

/// A kind of biometric hardware.
public enum LABiometryType: Int, Hashable, Sendable {
    /// There is none.
    case none = 0
    /// A fingerprint reader.
    case touchID = 1
    /// A camera that knows faces.
    case faceID = 2
    /// A camera that knows eyes.
    case opticID = 4
}

/// The longest time for which an earlier authentication can be taken again, in seconds.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// Where a function leaves the reason of its failure, or nil. Apple's Foundation has the name.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

#endif
