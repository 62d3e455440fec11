// Obedience: changes a keychain according to lines on standard input, and acknowledges each change.

import Foundation
import KeychainEngine
import KeychainCore

/// Each line is `save ACCOUNT VALUE` or `delete ACCOUNT`, for items of one service and group.
struct Obedience {
    let directory: String
    let service: String
    let group: String

    func run() throws {
        let engine = try KeychainEngine.open(directory: directory, options: .testing)
        acknowledge("ready")
        while let line = readLine() {
            let words = line.split(separator: " ").map { String($0) }
            switch words.first {
            case "save" where words.count == 3: try save(words[1], words[2], in: engine)
            case "delete" where words.count == 2:
                try engine.perform(
                    DeleteItems(query(words[1]), tombstones: .automatic), as: AccessGroups([group]))
            default: throw KeychainFailure(.param, "unknown line")
            }
            acknowledge("done")
        }
        engine.close()
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(service), .account: .string(account)])
    }

    private func save(
        _ account: String, _ value: String, in engine: KeychainEngine
    ) throws(KeychainFailure) {
        let caller = AccessGroups([group])
        let data = Data(value.utf8)
        do {
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: query(account).attributes,
                        protection: .afterFirstUnlockThisDeviceOnly, data: data)), as: caller)
        } catch {
            guard error.status == .duplicateItem else { throw error }
            try engine.perform(UpdateItems(query(account), ItemChanges(data: data)), as: caller)
        }
    }
}
