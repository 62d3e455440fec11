// Place: where the same tests run: on the disk as in the app, in memory, and in memory by way of
// the SecItem functions, as on Apple platforms.

import DeviceKeychain
import DeviceKeychainTesting
import Foundation
import Keychain
import KeychainTesting

enum Place: CaseIterable {
    case disk, memory, secItem

    func make() throws -> Storage {
        switch self {
        case .disk:
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "device-keychain-test-\(UUID().uuidString)", directoryHint: .isDirectory)
            let database = KeychainDatabase(directory: folder, accessGroups: ["test"])
            return Storage(KeychainService(in: database), database, folder)
        case .memory:
            let service = InMemoryKeychainService()
            return Storage(service, service.test.database, nil)
        case .secItem:
            let database = TestKeychain().secItemDatabase
            return Storage(KeychainService(in: database), database, nil)
        }
    }
}

/// A keychain service and the database below it, which go with the last reference.
final class Storage {
    let service: any KeychainServiceProtocol
    let database: KeychainDatabase
    private let folder: URL?

    init(_ service: any KeychainServiceProtocol, _ database: KeychainDatabase, _ folder: URL?) {
        self.service = service
        self.database = database
        self.folder = folder
    }

    deinit {
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }

    var devices: DeviceIdentificationService { DeviceIdentificationService(in: database) }
}

extension StorageKey {
    static let nickname = StorageKey(rawValue: "com.poopypals.app.nickname")
    static let household = StorageKey(rawValue: "com.poopypals.app.household")
    static let settings = StorageKey(rawValue: "com.poopypals.app.settings")
}

/// What the app makes of the error that `body` throws; nil: none.
func failure(_ body: () throws -> Void) -> KeychainFailure? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeychainError).map(KeychainFailure.init)
    }
}
