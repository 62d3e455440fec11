// CoreFoundationFunctions: Core Foundation's functions for byte buffers and errors. Also CFRetain
// and CFRelease, which are declared, but are unavailable in Swift.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

// MARK: - Byte buffers

/// Returns the number of bytes, or 0 for `nil`.
public func CFDataGetLength(_ theData: CFData!) -> CFIndex {
    theData?.length ?? 0
}

/// Returns a pointer to the bytes.
///
/// - Returns: A pointer to the first byte, or `nil` for `nil`. The pointer is valid as long as the
///   buffer object exists and is not changed. If the buffer is empty, the pointer must not be read
///   from.
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    // SAFETY: the memory is read through the pointer as bytes, which is allowed for any memory. The
    // lifetime of the pointer is part of this function's contract.
    unsafe theData.map { unsafe $0.bytes.assumingMemoryBound(to: UInt8.self) }
}

/// Creates a buffer that refers to memory allocated by the caller.
///
/// - Parameters:
///   - allocator: Ignored.
///   - bytes: The first byte. It may be `nil` if the length is 0.
///   - length: The number of bytes, at least 0.
///   - bytesDeallocator: With ``kCFAllocatorNull``, the caller keeps ownership and must keep the
///     memory alive as long as the buffer. With `nil`, the memory must come from `malloc`, and the
///     buffer takes ownership and frees it.
/// - Returns: The buffer. If the length is negative, or `bytes` is `nil` and the length is not 0,
///   the result is `nil` and the caller keeps ownership of the memory.
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex,
    _ bytesDeallocator: CFAllocator!
) -> CFData! {
    guard length >= 0 else { return nil }
    guard let bytes = unsafe bytes else { return length == 0 ? NSData() : nil }
    // SAFETY: the buffer is immutable, so the memory is never written through this pointer. The
    // last argument determines whether the caller or the buffer frees it, as documented above.
    return unsafe NSData(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes), length: length,
        freeWhenDone: bytesDeallocator !== kCFAllocatorNull)
}

/// Unavailable in Swift, as on Apple platforms: objects are retained automatically.
@available(*, unavailable, message: "objects are retained and released automatically")
public func CFRetain(_ cf: CFTypeRef!) -> CFTypeRef! { cf }

/// Unavailable in Swift, as on Apple platforms: objects are released automatically.
@available(*, unavailable, message: "objects are retained and released automatically")
public func CFRelease(_ cf: CFTypeRef!) {}

// MARK: - Errors

/// Returns the code of an error, or 0 for `nil`.
public func CFErrorGetCode(_ err: CFError!) -> CFIndex {
    err?.code ?? 0
}

/// Returns the domain of an error, or `nil` for `nil`.
public func CFErrorGetDomain(_ err: CFError!) -> CFErrorDomain! {
    err.map { $0.domain as NSString }
}

/// Returns the additional information of an error, or `nil` for `nil`. The dictionary may be empty.
public func CFErrorCopyUserInfo(_ err: CFError!) -> CFDictionary! {
    err.map { $0.userInfo as NSDictionary }
}

/// Returns an error's localized description, or `nil` for `nil`.
public func CFErrorCopyDescription(_ err: CFError!) -> CFString! {
    err.map { $0.localizedDescription as NSString }
}

/// Creates an error.
///
/// - Parameters:
///   - allocator: Ignored.
///   - domain: The domain of the code.
///   - code: The code.
///   - userInfo: Additional information. Entries whose key is not a string are omitted.
/// - Returns: The error, or `nil` if `domain` is `nil`.
public func CFErrorCreate(
    _ allocator: CFAllocator!, _ domain: CFErrorDomain!, _ code: CFIndex, _ userInfo: CFDictionary!
) -> CFError! {
    guard let domain else { return nil }
    var entries: [String: Any] = [:]
    for (key, value) in userInfo ?? [:] {
        if let key = key as? String { entries[key] = value }
    }
    return NSError(domain: domain as String, code: code, userInfo: entries)
}

#endif
