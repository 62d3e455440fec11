// CoreFoundationTypes: the Core Foundation types and constants that keychain code uses, and
// `CFGetTypeID`, which distinguishes objects by class.
//   (1) The names of object types are aliases of Foundation's classes, except `CFTypeRef` and
//       `CFAllocator`. Swift bridges its own values to these classes with `as` and `as?`, and
//       existing code casts in both directions. Aliases of `String` or `[String: Any]` would break
//       these casts.
//   (2) A type identifier belongs to one class and is the same in every process. It differs from
//       Apple's, so code may only compare it with the result of a `…GetTypeID` function, and must
//       not store it.
//   (3) A boolean is not a number, although both are `NSNumber`.
//   (4) Swift and Foundation manage the memory. The two allocators allocate nothing.
//   (5) With the package trait `NSStringHashing`, an NSString in an AnyHashable equals the String
//       with the same text, as on Apple platforms. This requires the trait because NSString then
//       conforms to an underscored protocol, in the whole process, including code that doesn't use
//       the keychain.
//
// SAFETY: every constant here is an immutable object that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

#if !canImport(Darwin)

public import Foundation

/// Any object. On Apple platforms, an untyped reference to a Core Foundation object.
public typealias CFTypeRef = AnyObject

/// A string.
public typealias CFString = NSString

/// A dictionary.
public typealias CFDictionary = NSDictionary

/// A byte buffer.
public typealias CFData = NSData

/// An array.
public typealias CFArray = NSArray

/// A set.
public typealias CFSet = NSSet

/// A point in time.
public typealias CFDate = NSDate

/// A number.
public typealias CFNumber = NSNumber

/// A boolean. It is an `NSNumber` too; ``CFGetTypeID(_:)`` distinguishes the two.
public typealias CFBoolean = NSNumber

/// The null object, which represents a missing value in a collection.
public typealias CFNull = NSNull

/// An error.
public typealias CFError = NSError

/// The domain of an error.
public typealias CFErrorDomain = CFString

/// A count or position.
public typealias CFIndex = Int

/// A duration in seconds.
public typealias CFTimeInterval = Double

/// A point in time, in seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = CFTimeInterval

/// A type identifier; see ``CFGetTypeID(_:)``.
public typealias CFTypeID = UInt

/// A set of option bits.
public typealias CFOptionFlags = UInt

// MARK: - Constants

// Implicitly unwrapped, like the imports of Apple's headers. Existing code writes `kCFBooleanTrue`,
// `kCFBooleanTrue!` and `kCFBooleanTrue as Any`, and all three must compile.

/// The boolean true.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)

/// The boolean false.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)

/// The key of a bundle's identifier in its information dictionary.
@safe public nonisolated(unsafe) let kCFBundleIdentifierKey: CFString! = "CFBundleIdentifier"

/// The domain of errors whose code is an ``OSStatus``.
@safe
public nonisolated(unsafe) let kCFErrorDomainOSStatus: CFErrorDomain! = "NSOSStatusErrorDomain"

// MARK: - Allocators

/// An allocator. When a caller passes memory to an object, the allocator determines whether the
/// caller or the object frees that memory. All other functions ignore their allocator.
public final class CFAllocator: Sendable {
    private init() {}

    fileprivate static let null = CFAllocator()
}

/// The default allocator: `nil`, as on Apple platforms.
public let kCFAllocatorDefault: CFAllocator! = nil

/// The allocator that neither allocates nor frees. The caller keeps ownership of the memory.
public let kCFAllocatorNull: CFAllocator! = CFAllocator.null

extension CFAllocator: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.allocator
}

// MARK: - Type identifiers

/// The classes that have a type identifier.
package enum CoreFoundationType: CFTypeID, CaseIterable {
    case unspecified = 1
    case allocator, null, boolean, number, string, data, date, array, dictionary, set, error
    case accessControl, key, certificate, identity, policy, trust
    case access, keychain, keychainItem, trustedApplication, code, task
}

/// A class of this package that has a type identifier.
package protocol CoreFoundationTyped: AnyObject {
    /// The type identifier of the class.
    static var coreFoundationType: CoreFoundationType { get }
}

/// Returns the type identifier of an object's class.
///
/// - Parameter cf: The object. A bridged Swift value has the identifier of the class that it
///   bridges to.
/// - Returns: The value of the corresponding `…GetTypeID` function; 1, which no such function
///   returns, if the object's class has no type identifier; 0 for `nil`.
///
/// It corresponds to Apple's `CFGetTypeID`, which traps on `nil`.
public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID {
    guard let object = cf else { return 0 }
    return CoreFoundationType(of: object).rawValue
}

extension CoreFoundationType {
    /// The type of an object, or `unspecified` if its class has none.
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
    /// Whether the number is a boolean.
    ///
    /// Foundation has only one object for true and one for false, so identity is decisive.
    /// `objCType` is not: it is "c" for a boolean and may be "c" for an 8-bit integer.
    package var isBoolean: Bool {
        self === kCFBooleanTrue || self === kCFBooleanFalse
    }
}

/// Returns the type identifier of strings.
public func CFStringGetTypeID() -> CFTypeID { CoreFoundationType.string.rawValue }

/// Returns the type identifier of byte buffers.
public func CFDataGetTypeID() -> CFTypeID { CoreFoundationType.data.rawValue }

/// Returns the type identifier of dictionaries.
public func CFDictionaryGetTypeID() -> CFTypeID { CoreFoundationType.dictionary.rawValue }

/// Returns the type identifier of arrays.
public func CFArrayGetTypeID() -> CFTypeID { CoreFoundationType.array.rawValue }

/// Returns the type identifier of sets.
public func CFSetGetTypeID() -> CFTypeID { CoreFoundationType.set.rawValue }

/// Returns the type identifier of dates.
public func CFDateGetTypeID() -> CFTypeID { CoreFoundationType.date.rawValue }

/// Returns the type identifier of numbers other than booleans.
public func CFNumberGetTypeID() -> CFTypeID { CoreFoundationType.number.rawValue }

/// Returns the type identifier of booleans.
public func CFBooleanGetTypeID() -> CFTypeID { CoreFoundationType.boolean.rawValue }

/// Returns the type identifier of errors.
public func CFErrorGetTypeID() -> CFTypeID { CoreFoundationType.error.rawValue }

/// Returns the type identifier of the null object.
public func CFNullGetTypeID() -> CFTypeID { CoreFoundationType.null.rawValue }

/// Returns the type identifier of allocators.
public func CFAllocatorGetTypeID() -> CFTypeID { CoreFoundationType.allocator.rawValue }

// MARK: - Strings as dictionary keys

#if NSStringHashing && !canImport(Darwin)
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    // swift-format-ignore: NoLeadingUnderscores
    /// The text as a String, so that `AnyHashable(NSString("a"))` equals `AnyHashable("a")`.
    public func _toCustomAnyHashable() -> AnyHashable? {
        AnyHashable(self as String)
    }
}
#endif

#endif
