// SecurityError: the error of a failed call to Security.

import Foundation
import Security

/// The error of a failed call to Security. Its status identifies the failure.
public struct SecurityError: LocalizedError, Equatable {
    /// The status that the call returned.
    public let status: OSStatus
    /// The description that the call returned, or the system's text for the status.
    public let errorDescription: String?

    /// Creates the error for a status.
    public init(_ status: OSStatus) {
        self.status = status
        errorDescription =
            SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
    }

    /// Creates an error from the `CFError` that a call returned through its last argument. If the
    /// call returned none, the status is `errSecInternalComponent`.
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

    /// Throws an error for every status except success.
    public static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw SecurityError(status) }
    }
}
