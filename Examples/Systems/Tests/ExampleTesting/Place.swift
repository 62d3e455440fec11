// Place: where a test's keychain is. What an application does has to be the same in each.

public import Foundation
public import Keychain
import KeychainTesting
public import Testing

/// A kind of place for a test's keychain.
public enum Place: CaseIterable, CustomTestStringConvertible, Sendable {
    /// In memory.
    case memory
    /// In memory, by way of the SecItem functions, as on Apple platforms.
    case secItem
    /// In a folder that goes when the tests end.
    case disk

    /// The name of the place.
    public var testDescription: String { "\(self)" }

    /// A new, empty keychain.
    public func database() -> KeychainDatabase {
        switch self {
        case .memory: TestKeychain().database
        case .secItem: TestKeychain().secItemDatabase
        case .disk: KeychainDatabase(directory: TemporaryFolder.new(), accessGroups: ["test"])
        }
    }
}

/// Folders for keychains, below one that goes when the tests end.
public final class TemporaryFolder: Sendable {
    private static let shared = TemporaryFolder()
    private let url = FileManager.default.temporaryDirectory
        .appending(path: "example-test-\(UUID().uuidString)")

    /// A keychain stays open until the process ends, so its folder stays as long.
    private init() {
        atexit { try? FileManager.default.removeItem(at: TemporaryFolder.shared.url) }
    }

    /// A folder that isn't there yet.
    public static func new() -> URL {
        shared.url.appending(path: UUID().uuidString)
    }
}

/// The error of an operation that has to fail; nil: it didn't, or with another kind of error.
public func failure(_ body: () throws -> Void) -> KeychainError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeychainError
    }
}
