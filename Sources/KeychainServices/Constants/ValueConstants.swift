// ValueConstants: Keys that carry a value: in an add the item itself, in a result what was asked
// for.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// The secret, or the encoded key or certificate. Data. In a query it is accepted and filters
/// nothing.
@safe public nonisolated(unsafe) let kSecValueData: CFString = "v_Data"

/// A key, certificate or identity object. In an add its attributes are taken from it.
@safe public nonisolated(unsafe) let kSecValueRef: CFString = "v_Ref"

/// A persistent reference. Data. A query may consist of it alone.
@safe public nonisolated(unsafe) let kSecValuePersistentRef: CFString = "v_PersistentRef"

#endif
