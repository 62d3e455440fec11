// ExportedItems: parses the output of `keychainctl export json`: an array of the objects that `get
// --json` writes.
//   (1) The secret, service or server, account, protocol, port, path, security domain,
//       authentication type, label, description, comment, group, protection class and the mark for
//       synchronization are imported. The date of the last change isn't imported, but compared with
//       that of an existing item.
//   (2) An item with an access control is an error: the JSON doesn't contain the access control's
//       requirements in full.

import FoundationEssentials
import KeychainCore

enum ExportedItems {
    /// The object members that the import uses. All others are ignored.
    private struct Item: Decodable {
        var `class`: String
        var service: String?
        var server: String?
        var account: String?
        var `protocol`: String?
        var port: Int64?
        var path: String?
        var securityDomain: String?
        var authenticationType: String?
        var label: String?
        var description: String?
        var comment: String?
        var group: String?
        var accessible: String?
        var synchronizable: Bool?
        var accessControl: [String]?
        var modified: String?
        var data: Data?
    }

    static func items(in bytes: [UInt8]) throws(ImportProblem) -> [ImportedItem] {
        guard let items = try? JSONDecoder().decode([Item].self, from: Data(bytes)) else {
            // The decoder's error may contain part of a secret, so it isn't repeated.
            throw ImportProblem(line: 1, text: "This is not JSON as written by `export json`.")
        }
        var result: [ImportedItem] = []
        for (index, item) in items.enumerated() {
            result.append(try imported(item, number: index + 1))
        }
        return result
    }

    private static func imported(_ item: Item, number: Int) throws(ImportProblem) -> ImportedItem {
        func problem(_ text: String) -> ImportProblem {
            ImportProblem(line: 1, text: "Item \(number) \(text)")
        }
        guard item.accessControl?.isEmpty ?? true else {
            throw problem(
                "has an access control, which `backup` preserves but this format doesn't.")
        }
        var keys: Attributes = [:]
        keys[.account] = item.account.map { .string($0) }
        let itemClass: ItemClass
        switch item.class {
        case ClassName(.genericPassword).rawValue:
            itemClass = .genericPassword
            keys[.service] = item.service.map { .string($0) }
        case ClassName(.internetPassword).rawValue:
            itemClass = .internetPassword
            keys[.server] = item.server.map { .string($0) }
            keys[.path] = item.path.map { .string($0) }
            keys[.port] = item.port.map { .number($0) }
            keys[.securityDomain] = item.securityDomain.map { .string($0) }
            keys[.protocolType] = item.protocol.flatMap {
                NetworkNames.value(of: $0, for: .protocolType)
            }
            keys[.authenticationType] = item.authenticationType.flatMap {
                NetworkNames.value(of: $0, for: .authenticationType)
            }
        default: throw problem("is not a password.")
        }
        guard let data = item.data else { throw problem("has no secret.") }
        var remarks: Attributes = [:]
        remarks[.label] = item.label.map { .string($0) }
        remarks[.description] = item.description.map { .string($0) }
        remarks[.comment] = item.comment.map { .string($0) }
        var result = ImportedItem(
            itemClass: itemClass, keys: keys, remarks: remarks, data: data, line: 1)
        result.group = item.group
        result.isSynchronizable = item.synchronizable
        result.modified = item.modified.flatMap { Timestamp.seconds($0) }
        if let name = item.accessible {
            guard let protection = ProtectionClass(commandLineName: name) else {
                throw problem("has an unknown protection class.")
            }
            result.protection = protection
        }
        return result
    }
}
