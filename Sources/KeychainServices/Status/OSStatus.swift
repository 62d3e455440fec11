// OSStatus: the type of result codes, the function that returns their texts, and errors that
// contain them.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// A result code: 0 for success, any other value for a failure.
public typealias OSStatus = Int32

/// A four-character code as a number.
public typealias FourCharCode = UInt32

/// A four-character type code as a number.
public typealias OSType = FourCharCode

/// No error: the older name of ``errSecSuccess``.
public let noErr: OSStatus = 0

/// Returns a text that explains a result code.
///
/// - Parameters:
///   - status: The code.
///   - reserved: Pass `nil`. Ignored.
/// - Returns: What happened and, for common codes, what to do next, in English; "OSStatus" and the
///   number if the code is unknown. Never `nil`.
///
/// It corresponds to Apple's function of the same name. The texts differ from Apple's.
public func SecCopyErrorMessageString(
    _ status: OSStatus, _ reserved: UnsafeMutableRawPointer?
) -> CFString? {
    StatusMessages.message(for: status) as NSString
}

extension CFError {
    /// Creates an error in the domain of result codes.
    ///
    /// - Parameters:
    ///   - status: The code.
    ///   - reason: A precise description of the failure, without secrets and, except for names in
    ///     certificates, without values of attributes. The default is the text of the code.
    package convenience init(status: OSStatus, reason: String? = nil) {
        let description = reason ?? StatusMessages.message(for: status)
        self.init(
            domain: kCFErrorDomainOSStatus as String, code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: description])
    }

    /// Stores this error in the caller's error pointer, which then owns it. Does nothing if the
    /// pointer is `nil`.
    package func store(in pointer: UnsafeMutablePointer<Unmanaged<CFError>?>?) {
        // SAFETY: the caller passed the address of an error variable that outlives the call. The
        // variable takes ownership of one retain, as Core Foundation's Create Rule requires.
        unsafe pointer?.pointee = Unmanaged.passRetained(self)
    }
}

#endif
