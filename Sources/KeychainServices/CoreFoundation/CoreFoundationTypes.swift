// CoreFoundationTypes: the Core Foundation types and constants that keychain code names, and
// telling objects apart by class, as `CFGetTypeID` does.
//   (1) The type names are aliases of Foundation's classes. Swift bridges its own values to these
//       classes with `as` and `as?`, which aliases to `String` or `[String: Any]` would not
//       survive: existing code casts in both directions.
//   (2) An identifier of a type belongs to one class and is the same in every run. It means nothing
//       outside the process: Apple's are other numbers, and code may only compare them.
//   (3) A boolean is not a number, though both are `NSNumber`.
//   (4) Memory itself is Swift's and Foundation's: the two allocators are names.
//   (5) With the package trait `NSStringHashing` an NSString in an AnyHashable is equal to the
//       String of its text, as on Apple's systems. The conformance is underscored and counts for
//       the whole process, also for code that has nothing to do with a keychain, so it is there
//       only with the trait.
//
// SAFETY: every constant here is an immutable object that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

#if !canImport(Darwin)

public import Foundation

/// Any object. At Apple: an untyped reference to a Core Foundation object.
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

/// A boolean. It is a number too; ``CFGetTypeID(_:)`` tells the two apart.
public typealias CFBoolean = NSNumber

/// The null object, which stands for a missing value in a collection.
public typealias CFNull = NSNull

/// An error.
public typealias CFError = NSError

/// The domain of an error.
public typealias CFErrorDomain = CFString

/// A count or position.
public typealias CFIndex = Int

/// A span of time, in seconds.
public typealias CFTimeInterval = Double

/// A moment: seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = CFTimeInterval

/// An identifier of a class; see ``CFGetTypeID(_:)``.
public typealias CFTypeID = UInt

/// A set of option bits.
public typealias CFOptionFlags = UInt

// MARK: - Constants

// Implicitly unwrapped, as Apple's headers import: existing code writes `kCFBooleanTrue`,
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

/// An allocator. It says who frees memory that is handed over, and is ignored elsewhere.
public final class CFAllocator: Sendable {
    private init() {}

    fileprivate static let null = CFAllocator()
}

/// The default allocator: nil, as at Apple.
public let kCFAllocatorDefault: CFAllocator! = nil

/// The allocator that neither allocates nor frees: the caller keeps the memory.
public let kCFAllocatorNull: CFAllocator! = CFAllocator.null

extension CFAllocator: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.allocator
}

// MARK: - Telling objects apart

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

// MARK: - Strings as keys

#if NSStringHashing && !canImport(Darwin)
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    // swift-format-ignore: NoLeadingUnderscores
    /// The text, so that `AnyHashable(NSString("a"))` is `AnyHashable("a")`.
    public func _toCustomAnyHashable() -> AnyHashable? {
        AnyHashable(self as String)
    }
}
#endif

#endif
