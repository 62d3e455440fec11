// The capture app's service, for its tests in each place.

import ExampleTesting
import Foundation
import Keychain
import Logging
import Testing

@testable import Capture

extension Place {
    func service() -> KeychainService {
        .quiet(in: database())
    }
}

extension KeychainService {
    /// A service whose log nobody reads.
    static func quiet(in database: KeychainDatabase) -> KeychainService {
        KeychainService(
            in: database, logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
    }
}

/// The reason of an operation that has to fail.
func reason(_ body: () throws -> Void) -> KeychainError.Reason? {
    failure(body)?.reason
}

/// A key of the tests that stands for any.
let anyKey = "rial.test"
