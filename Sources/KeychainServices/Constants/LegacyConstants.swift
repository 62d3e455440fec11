// LegacyConstants: Names of the macOS file-based keychain and of shared web credentials. They exist
// so that code that names them compiles.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// The access object of an item in a file-based keychain. `SecAccess`. Use
/// ``kSecAttrAccessControl``.
@safe public nonisolated(unsafe) let kSecAttrAccess: CFString = "acls"

/// The file-based keychain to work on. `SecKeychain`.
@safe public nonisolated(unsafe) let kSecUseKeychain: CFString = "u_Keychain"

/// In a shared web credential: the password. String.
@safe public nonisolated(unsafe) let kSecSharedPassword: CFString = "spwd"

/// The state of a file-based keychain: bits of the `kSec…Status` values.
public typealias SecKeychainStatus = UInt32

/// The keychain is unlocked.
public let kSecUnlockStateStatus: SecKeychainStatus = 1

/// The keychain can be read.
public let kSecReadPermStatus: SecKeychainStatus = 2

/// The keychain can be written.
public let kSecWritePermStatus: SecKeychainStatus = 4

#endif
