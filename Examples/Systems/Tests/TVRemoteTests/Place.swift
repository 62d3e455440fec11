// Place: where a test's keychain is. Every test of the manager runs in each.

import Foundation
import Keychain
import KeychainTesting
import Testing

@testable import TVRemote

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
        case .disk: KeychainDatabase(directory: TemporaryFolder.new(), accessGroups: ["remote"])
        }
    }

    func manager() -> KeychainManager {
        KeychainManager(in: database())
    }
}

/// Folders for keychains, below one that goes when the tests end.
final class TemporaryFolder: Sendable {
    private static let shared = TemporaryFolder()
    private let url = FileManager.default.temporaryDirectory
        .appending(path: "tv-remote-test-\(UUID().uuidString)")

    /// A keychain stays open until the process ends, so its folder stays as long.
    private init() {
        atexit { try? FileManager.default.removeItem(at: TemporaryFolder.shared.url) }
    }

    static func new() -> URL {
        shared.url.appending(path: UUID().uuidString)
    }
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

extension TVCredentials {
    static let paired = TVCredentials(
        ipAddress: "192.168.1.20", macAddress: "A8:23:FE:01:02:03", clientKey: "k3y-of-the-tv")
    static let unpaired = TVCredentials(
        ipAddress: "192.168.1.20", macAddress: "A8:23:FE:01:02:03")
}
