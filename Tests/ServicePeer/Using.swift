// Using: a program that uses its keychain, its own or that of a service, as any program does.

import Foundation
import KeychainRuntime
import KeychainCore

/// Carries out words such as `add:ACCOUNT`, each with a line that says what came of it.
struct Using {
    func run(_ words: [String]) throws {
        let keychain = try ProcessKeychain.connection()
        for word in words {
            let parts = word.split(separator: ":").map { String($0) }
            do throws(KeychainFailure) {
                acknowledge("\(word) \(try carryOut(parts, keychain))")
            } catch {
                acknowledge("\(word) \(error.status.rawValue)")
            }
        }
    }

    private func carryOut(
        _ parts: [String], _ keychain: KeychainConnection
    ) throws(KeychainFailure) -> String {
        let (service, caller) = (keychain.service, keychain.caller)
        var query = ItemQuery(itemClass: .genericPassword)
        if parts.count > 1 {
            query.attributes = [.service: .string("using"), .account: .string(parts[1])]
        }
        switch parts.first {
        case "add":
            _ = try service.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: query.attributes,
                        protection: .afterFirstUnlock, data: Data("x".utf8))), as: caller)
            return "0"
        case "delete":
            return "\(try service.perform(DeleteItems(query, tombstones: .automatic), as: caller))"
        case "change":
            let changes = ItemChanges(attributes: [.label: .string("changed")])
            return "\(try service.perform(UpdateItems(query, changes), as: caller))"
        case "list":
            let found = try service.perform(FindItems(query, Retrieval(limit: nil)), as: caller)
            return found.map { item in
                let account = item.attributes[.account].flatMap(Self.text) ?? "?"
                return item.attributes[.label] == nil ? account : account + "*"
            }.sorted().joined(separator: " ")
        default: throw .param("There is no such word.")
        }
    }

    private static func text(_ value: AttributeValue) -> String? {
        if case .string(let text) = value { text } else { nil }
    }
}
