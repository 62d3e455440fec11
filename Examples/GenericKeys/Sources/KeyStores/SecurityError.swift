// SecurityError: why a call to Security failed.

import Foundation
import Security

/// A call to Security failed. The status is the code to catch by.
public struct SecurityError: LocalizedError, Equatable {
    /// What the call returned.
    public let status: OSStatus
    /// What the call said, or the system's text for the status.
    public let errorDescription: String?

    /// The error of a status.
    public init(_ status: OSStatus) {
        self.status = status
        errorDescription =
            SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
    }

    /// The error that a call gave by its last argument.
    public init(_ error: CFError?) {
        if let error {
            self.init(
                status: OSStatus(truncatingIfNeeded: CFErrorGetCode(error)),
                errorDescription: (error as any Error).localizedDescription)
        } else {
            self.init(errSecInternalComponent)
        }
    }

    private init(status: OSStatus, errorDescription: String?) {
        self.status = status
        self.errorDescription = errorDescription
    }

    /// Throws the error of any status but success.
    public static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw SecurityError(status) }
    }
}
