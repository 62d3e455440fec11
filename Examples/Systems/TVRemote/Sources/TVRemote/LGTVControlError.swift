// LGTVControlError: the reason that a connection to the television failed.

import Foundation

/// The reason that a connection to the television failed.
public enum LGTVControlError: Error, LocalizedError, Equatable {
    /// The television's user declined to pair.
    case declined
    /// The television does not recognize the key. The key is still stored.
    case keyRefused
    /// The television did not respond within the time limit.
    case noAnswer
    /// No connection to the television's address could be made, or the connection broke.
    case unreachable
    /// The address can't be part of a URL.
    case invalidAddress
    /// The television responded with this HTTP status, or with 200 but without a key.
    case unexpectedAnswer(Int)

    /// What happened and, where the user can correct it, what to do next.
    public var errorDescription: String? {
        switch self {
        case .declined:
            "The television's user declined. Connect again, and accept on the television."
        case .keyRefused:
            "The television refused the stored key. Clear it in the app, and connect again."
        case .noAnswer:
            "The television did not answer in time. Connect again."
        case .unreachable:
            "The television is off, or has another address. Turn it on, and check the address."
        case .invalidAddress:
            "The television's address is not valid. Correct it."
        case .unexpectedAnswer(let status):
            "The television's answer was not understood (HTTP status \(status))."
        }
    }
}
