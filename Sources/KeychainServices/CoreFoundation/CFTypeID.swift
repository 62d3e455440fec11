// CFTypeID: telling objects apart by class, as `CFGetTypeID` does.
//   (1) An identifier belongs to one class and is the same in every run.
//   (2) A boolean is not a number, though both are `NSNumber`.
//   (3) Identifiers mean nothing outside the process: Apple's are other numbers, and code may only
//       compare them.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

import Foundation

/// The classes that have an identifier of their own.
package enum CoreFoundationType: CFTypeID, CaseIterable {
    case unspecified = 1
    case allocator, null, boolean, number, string, data, date, array, dictionary, set, error
    case accessControl, key, certificate, identity, policy, trust
    case access, keychain, keychainItem, trustedApplication, code, task
}

/// A class of this package that `CFGetTypeID` knows.
package protocol CoreFoundationTyped: AnyObject {
    /// Which of the identifiers is the class's own.
    static var coreFoundationType: CoreFoundationType { get }
}

/// Returns the identifier of an object's class.
///
/// - Parameter cf: The object. A Swift value that was bridged counts as the class it bridges to.
/// - Returns: The value of the matching `…GetTypeID` function; 1, which no such function returns, for
///   an object of another class; 0 for nil.
///
/// It corresponds to `CFGetTypeID`, which has no answer for nil and traps.
public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID {
    guard let object = cf else { return 0 }
    return CoreFoundationType(of: object).rawValue
}

extension CoreFoundationType {
    /// The type of an object; `unspecified` if its class has none.
    package init(of object: CFTypeRef) {
        self =
            switch object {
            case let typed as any CoreFoundationTyped: type(of: typed).coreFoundationType
            case let number as NSNumber: number.isBoolean ? .boolean : .number
            case is NSString: .string
            case is NSData: .data
            case is NSDate: .date
            case is NSArray: .array
            case is NSDictionary: .dictionary
            case is NSSet: .set
            case is NSError: .error
            case is NSNull: .null
            default: .unspecified
            }
    }
}

extension NSNumber {
    /// Whether the number was made from a boolean.
    ///
    /// Foundation keeps one object for true and one for false, whatever made them, so identity
    /// decides. `objCType` does not: it is "c" for a boolean and may be for an 8-bit integer.
    package var isBoolean: Bool {
        self === kCFBooleanTrue || self === kCFBooleanFalse
    }
}

/// Returns the identifier of strings.
public func CFStringGetTypeID() -> CFTypeID { CoreFoundationType.string.rawValue }

/// Returns the identifier of byte buffers.
public func CFDataGetTypeID() -> CFTypeID { CoreFoundationType.data.rawValue }

/// Returns the identifier of dictionaries.
public func CFDictionaryGetTypeID() -> CFTypeID { CoreFoundationType.dictionary.rawValue }

/// Returns the identifier of arrays.
public func CFArrayGetTypeID() -> CFTypeID { CoreFoundationType.array.rawValue }

/// Returns the identifier of sets.
public func CFSetGetTypeID() -> CFTypeID { CoreFoundationType.set.rawValue }

/// Returns the identifier of points in time.
public func CFDateGetTypeID() -> CFTypeID { CoreFoundationType.date.rawValue }

/// Returns the identifier of numbers that are not booleans.
public func CFNumberGetTypeID() -> CFTypeID { CoreFoundationType.number.rawValue }

/// Returns the identifier of booleans.
public func CFBooleanGetTypeID() -> CFTypeID { CoreFoundationType.boolean.rawValue }

/// Returns the identifier of errors.
public func CFErrorGetTypeID() -> CFTypeID { CoreFoundationType.error.rawValue }

/// Returns the identifier of the null object.
public func CFNullGetTypeID() -> CFTypeID { CoreFoundationType.null.rawValue }

/// Returns the identifier of allocators.
public func CFAllocatorGetTypeID() -> CFTypeID { CoreFoundationType.allocator.rawValue }

#endif
