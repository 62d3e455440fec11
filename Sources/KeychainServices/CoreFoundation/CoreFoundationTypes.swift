// CoreFoundationTypes: the Core Foundation type names, as aliases of Foundation's classes.
// Swift bridges its own values to these classes with `as` and `as?`, which aliases to `String` or
// `[String: Any]` would not survive: existing code casts in both directions.

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

#endif
