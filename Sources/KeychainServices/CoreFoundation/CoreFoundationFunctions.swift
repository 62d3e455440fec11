// CoreFoundationFunctions: Core Foundation's functions on byte buffers and on errors.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

// MARK: - Byte buffers

/// Returns the number of bytes; 0 for nil.
public func CFDataGetLength(_ theData: CFData!) -> CFIndex {
    theData?.length ?? 0
}

/// Returns a pointer to the bytes.
///
/// - Returns: The first byte. It is valid while the buffer object lives and is not changed, and may
///   point at nothing readable if the buffer is empty; nil for nil.
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    // SAFETY: the type of the pointer is bound to bytes, which any memory may be read as; how long
    // it is valid is part of this function's contract.
    unsafe theData.map { unsafe $0.bytes.assumingMemoryBound(to: UInt8.self) }
}

/// Makes a buffer around memory that the caller allocated.
///
/// - Parameters:
///   - allocator: Ignored.
///   - bytes: The first byte. It may be nil if the length is 0.
///   - length: The number of bytes, 0 and up.
///   - bytesDeallocator: ``kCFAllocatorNull`` leaves the memory to the caller, who keeps it alive as
///     long as the buffer. Nil hands over memory from `malloc`, which the buffer frees.
/// - Returns: The buffer, or nil if the length is negative or bytes are missing; the memory is then
///   still the caller's.
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex,
    _ bytesDeallocator: CFAllocator!
) -> CFData! {
    guard length >= 0 else { return nil }
    guard let bytes = unsafe bytes else { return length == 0 ? NSData() : nil }
    // SAFETY: the buffer is immutable, so the memory is never written through this pointer; who
    // frees it is settled by the last argument, as documented above.
    return unsafe NSData(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes), length: length,
        freeWhenDone: bytesDeallocator !== kCFAllocatorNull)
}

/// Not for Swift: objects are retained automatically. Unavailable at Apple too.
@available(*, unavailable, message: "objects are retained and released automatically")
public func CFRetain(_ cf: CFTypeRef!) -> CFTypeRef! { cf }

/// Not for Swift: objects are released automatically. Unavailable at Apple too.
@available(*, unavailable, message: "objects are retained and released automatically")
public func CFRelease(_ cf: CFTypeRef!) {}

// MARK: - Errors

/// Returns the code of an error; 0 for nil.
public func CFErrorGetCode(_ err: CFError!) -> CFIndex {
    err?.code ?? 0
}

/// Returns the domain of an error; nil for nil.
public func CFErrorGetDomain(_ err: CFError!) -> CFErrorDomain! {
    err.map { $0.domain as NSString }
}

/// Returns what else an error says, empty if nothing; nil for nil.
public func CFErrorCopyUserInfo(_ err: CFError!) -> CFDictionary! {
    err.map { $0.userInfo as NSDictionary }
}

/// Returns an error's description for people; nil for nil.
public func CFErrorCopyDescription(_ err: CFError!) -> CFString! {
    err.map { $0.localizedDescription as NSString }
}

/// Makes an error.
///
/// - Parameters:
///   - allocator: Ignored.
///   - domain: The domain that the code belongs to.
///   - code: The code.
///   - userInfo: What else the error says. Entries whose key is not a string are left out.
/// - Returns: The error, or nil if there is no domain.
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
