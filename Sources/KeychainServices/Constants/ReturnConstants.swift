// ReturnConstants: Keys that say what `SecItemAdd` and `SecItemCopyMatching` return. More than one
// makes the result a dictionary.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// Return the secret. Boolean.
@safe public nonisolated(unsafe) let kSecReturnData: CFString = "r_Data"

/// Return the attributes, without the secret. Boolean.
@safe public nonisolated(unsafe) let kSecReturnAttributes: CFString = "r_Attributes"

/// Return the key, certificate or identity as an object. Boolean. A password has none.
@safe public nonisolated(unsafe) let kSecReturnRef: CFString = "r_Ref"

/// Return a persistent reference. Boolean. The reference is Data and survives changes of the item.
@safe public nonisolated(unsafe) let kSecReturnPersistentRef: CFString = "r_PersistentRef"

#endif
