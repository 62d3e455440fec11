// AppleAuthError: why a sign-in gave no credential. It holds nothing of the answer.

import Foundation

/// An error of ``AppleAuthService``.
public enum AppleAuthError: LocalizedError, Equatable {
    /// The person, or the program, has cancelled. This is no failure to report.
    case cancelled
    /// The service answered with this status of HTTP.
    case failed(statusCode: Int)
    /// The service did not answer within the time limit.
    case timedOut
    /// There is no connection to the service.
    case unreachable
    /// The service answered with something that is no credential.
    case invalidAnswer

    /// A sentence for a person.
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
