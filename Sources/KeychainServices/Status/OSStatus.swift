// OSStatus: the type of a result code, the function for its text, and errors that carry it.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// A result code: 0 for success, everything else a reason.
public typealias OSStatus = Int32

/// A code of four characters in one number.
public typealias FourCharCode = UInt32

/// A type code of four characters in one number.
public typealias OSType = FourCharCode

/// No error: the value of ``errSecSuccess`` under its older name.
public let noErr: OSStatus = 0

/// Returns a sentence that says what a result code means.
///
/// - Parameters:
///   - status: The code.
///   - reserved: Pass nil. Ignored.
/// - Returns: What happened and, for common codes, what to do next, in English; "OSStatus" and the
///   number if the code is unknown. Never nil.
///
/// It corresponds to the function of the same name. The texts differ from Apple's.
public func SecCopyErrorMessageString(
    _ status: OSStatus, _ reserved: UnsafeMutableRawPointer?
) -> CFString? {
    StatusMessages.message(for: status) as NSString
}

extension CFError {
    /// An error in the domain of result codes.
    ///
    /// - Parameters:
    ///   - status: The code.
    ///   - reason: What exactly was wrong, free of secrets and of values from the request. Without
    ///     one the code's own text describes the error.
    package convenience init(status: OSStatus, reason: String? = nil) {
        let description = reason ?? StatusMessages.message(for: status)
        self.init(
            domain: kCFErrorDomainOSStatus as String, code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: description])
    }

    /// Hands this error to a caller's error pointer, which then owns it. Nothing happens without one.
    package func store(in pointer: UnsafeMutablePointer<Unmanaged<CFError>?>?) {
        // SAFETY: the caller passed the address of an error variable that lives through the call;
        // the variable takes over one retain, as the Create rule demands.
        unsafe pointer?.pointee = Unmanaged.passRetained(self)
    }
}

#endif
