// AppleAuthError: the reason for a failed sign-in. The error contains no part of the response
// except the HTTP status.

import Foundation

/// An error of ``AppleAuthService``.
public enum AppleAuthError: LocalizedError, Equatable {
    /// The user or the program canceled the sign-in. The app does not report this as a failure.
    case cancelled
    /// The service responded with this HTTP status, which is not 200.
    case failed(statusCode: Int)
    /// The service did not respond within the time limit.
    case timedOut
    /// The service can't be reached, or the connection to it broke.
    case unreachable
    /// The response of the service is not a credential with a non-empty identifier.
    case invalidAnswer

    /// A description for users.
    public var errorDescription: String? {
        switch self {
        case .cancelled: "The sign-in was cancelled."
        case .failed(let statusCode): "The sign-in service failed (\(statusCode)). Try again."
        case .timedOut: "The sign-in service did not answer in time. Try again."
        case .unreachable: "The sign-in service can't be reached. Try again."
        case .invalidAnswer: "The answer of the sign-in service can't be read."
        }
    }
}
