// Place: where a test's keychain is. Every test of the service runs in each.

import Foundation
import Keychain
import KeychainTesting
import Logging
import Testing

@testable import Capture

enum Place: CaseIterable, CustomTestStringConvertible {
    case memory
    /// In memory, by way of the SecItem functions, as on Apple platforms.
    case secItem
    case disk

    var testDescription: String { "\(self)" }

    func database() -> KeychainDatabase {
        switch self {
        case .memory: TestKeychain().database
        case .secItem: TestKeychain().secItemDatabase
        case .disk: KeychainDatabase(directory: TemporaryFolder.new(), accessGroups: ["rial"])
        }
    }

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

/// Folders for keychains, below one that goes when the tests end.
final class TemporaryFolder: Sendable {
    private static let shared = TemporaryFolder()
    private let url = FileManager.default.temporaryDirectory
        .appending(path: "capture-test-\(UUID().uuidString)")

    /// A keychain stays open until the process ends, so its folder stays as long.
    private init() {
        atexit { try? FileManager.default.removeItem(at: TemporaryFolder.shared.url) }
    }

    static func new() -> URL {
        shared.url.appending(path: UUID().uuidString)
    }
}

/// The reason of an operation that has to fail.
func reason(_ body: () throws -> Void) -> KeychainError.Reason? {
    failure(body)?.reason
}

/// The error of an operation that has to fail.
func failure(_ body: () throws -> Void) -> KeychainError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeychainError
    }
}

/// A key of the tests that stands for any.
let anyKey = "rial.test"
