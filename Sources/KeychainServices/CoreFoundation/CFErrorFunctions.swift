// CFErrorFunctions: making and reading errors by Core Foundation's functions.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

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
