// NSString+AnyHashable: makes an NSString in an AnyHashable equal to the String of its text, as on
// Apple's systems.
//   (1) The conformance is underscored and counts for the whole process, also for code that has
//       nothing to do with a keychain. So it is there only with the package trait
//       `NSStringHashing`.

#if NSStringHashing && !canImport(Darwin)

public import Foundation

extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    // swift-format-ignore: NoLeadingUnderscores
    /// The text, so that `AnyHashable(NSString("a"))` is `AnyHashable("a")`.
    public func _toCustomAnyHashable() -> AnyHashable? {
        AnyHashable(self as String)
    }
}

#endif
