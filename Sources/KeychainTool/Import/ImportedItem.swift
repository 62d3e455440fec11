// ImportedItem: one secret from a source of `keychainctl import`. Also the sources themselves, and
// the problems that are found in them.

import ArgumentParser
import FoundationEssentials
import KeychainCore

struct ImportedItem {
    let itemClass: ItemClass
    /// The attributes that name the item: service and account, or server, account and the other
    /// attributes of an internet password's primary key.
    let keys: Attributes
    /// Further attributes of a new item: label, description and comment.
    private(set) var remarks: Attributes = [:]
    let data: Data
    /// The line in the source, for errors that are found later. If the line isn't known, the value
    /// is 0 or, for JSON, 1.
    let line: Int
    /// The time of the last change, in seconds since 2001-01-01, or `nil` if the source doesn't
    /// record it.
    var modified: Double?
    /// The access group. This property and the next two are known only if the source is the output
    /// of `keychainctl export json`.
    var group: String?
    var protection: ProtectionClass?
    var isSynchronizable: Bool?

    /// The secret as text.
    var secret: String { String(decoding: data, as: UTF8.self) }

    init(
        itemClass: ItemClass, keys: Attributes, remarks: Attributes, data: Data, line: Int
    ) {
        self.itemClass = itemClass
        self.keys = keys
        self.remarks = remarks
        self.data = data
        self.line = line
    }

    /// A generic password.
    init(
        service: String, account: String, label: String? = nil, description: String? = nil,
        secret: String, line: Int
    ) {
        itemClass = .genericPassword
        keys = [.service: .string(service), .account: .string(account)]
        remarks[.label] = label.map { .string($0) }
        remarks[.description] = description.map { .string($0) }
        data = Data(secret.utf8)
        self.line = line
    }

    /// An internet password.
    init(
        server: String, account: String, protocolName: String? = nil, port: Int? = nil,
        path: String? = nil, label: String? = nil, secret: String, line: Int
    ) {
        itemClass = .internetPassword
        remarks[.label] = label.map { .string($0) }
        var keys: Attributes = [.server: .string(server), .account: .string(account)]
        keys[.protocolType] = protocolName.flatMap {
            NetworkNames.value(of: $0, for: .protocolType)
        }
        keys[.port] = port.map { .number(Int64($0)) }
        keys[.path] = path.map { .string($0) }
        self.keys = keys
        data = Data(secret.utf8)
        self.line = line
    }

    /// The item's name for messages, on one line: the service and account of a generic password, or
    /// the server, port, path and account of an internet password.
    var name: String {
        let place = text(itemClass == .genericPassword ? .service : .server)
        let port = keys[.port].map { _ in ":\(text(.port))" } ?? ""
        let separator = text(.path).isEmpty || text(.path).hasPrefix("/") ? "" : "/"
        return printable("\(place)\(port)\(separator)\(text(.path))")
            + (text(.account).isEmpty ? "" : " " + printable(text(.account)))
    }

    private func text(_ attribute: Attribute) -> String {
        switch keys[attribute] {
        case .string(let text): text
        case .number(let number): String(number)
        default: ""
        }
    }

    /// Equal for two items exactly if they have the same class, the same attributes of the primary
    /// key and the same access group, and both or neither are synchronizable. A missing value
    /// counts as empty.
    var identity: [String] {
        let mark = isSynchronizable == true ? "yes" : "no"
        return [String(describing: itemClass), group ?? "", mark]
            + itemClass.primaryKey.map { text($0) }
    }
}

/// A problem with a source, and the line where it is. The text never contains part of a secret.
struct ImportProblem: Error, Equatable {
    let line: Int
    let text: String
    /// If not `nil`, the error of `RunManifest` that is thrown instead of this problem. That error
    /// can contain the text before the first `=` of a line.
    var failure: ControlFailure?
}

/// The programs and formats from which secrets can be imported.
enum ImportSource: String, CaseIterable, ExpressibleByArgument {
    case env, netrc, csv, aws, docker, json, pass
    case gitCredentials = "git-credentials"
    case gnomeKeyring = "gnome-keyring"
    case keychainDump = "keychain-dump"
    case secretService = "secret-service"

    static let consequence = "Nothing was imported."

    /// Whether the source can record when an item was changed.
    var hasTimes: Bool { ![.env, .netrc, .gitCredentials, .aws, .docker].contains(self) }

    /// Returns all items of a source that is a text file. An item that occurs several times is
    /// returned once. `service` is the service of the items from environment variables; other
    /// sources ignore it.
    func items(
        in bytes: [UInt8], named path: String, service: String
    ) throws(ControlFailure) -> [ImportedItem] {
        do throws(ImportProblem) {
            return try Self.distinct(try parsed(bytes, path, service))
        } catch {
            if let failure = error.failure { throw failure }
            throw ControlFailure(
                .failure, "\(path):\(error.line): \(error.text) \(Self.consequence)")
        }
    }

    private func parsed(
        _ bytes: [UInt8], _ path: String, _ service: String
    ) throws(ImportProblem) -> [ImportedItem] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated()
        where line.contains(0) || String(validating: line, as: UTF8.self) == nil {
            throw ImportProblem(line: index + 1, text: "The line is not UTF-8 text.")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .netrc: return try NetrcFile.items(in: text)
        case .gitCredentials: return try GitCredentialFile.items(in: text)
        case .csv: return try PasswordTable.items(in: text)
        case .aws: return try AWSCredentialFile.items(in: text)
        case .docker: return try DockerConfigFile.items(in: text)
        case .json: return try ExportedItems.items(in: bytes)
        // The types `PasswordStore`, `KeyringFile` and `SecretService` read these sources.
        case .pass, .gnomeKeyring, .secretService: return []
        case .keychainDump: return try KeychainDump.items(in: text)
        case .env:
            do throws(ControlFailure) {
                return try RunManifest(bytes, named: path, consequence: Self.consequence)
                    .variables.compactMap { name, value in
                        // A variable that refers to an item has no secret to import.
                        guard case .text(let secret) = value else { return nil }
                        return ImportedItem(
                            service: service, account: name, secret: secret, line: 0)
                    }
            } catch {
                throw ImportProblem(line: 0, text: "", failure: error)
            }
        }
    }

    /// Removes repeated items. Two different secrets for one name are an error, because programs
    /// differ in which secret they use.
    static func distinct(
        _ items: [ImportedItem]
    ) throws(ImportProblem) -> [ImportedItem] {
        var seen: [[String]: ImportedItem] = [:]
        var result: [ImportedItem] = []
        for item in items {
            guard let first = seen.updateValue(item, forKey: item.identity) else {
                result.append(item)
                continue
            }
            guard first.data == item.data else {
                throw ImportProblem(
                    line: item.line,
                    text: "\(item.name) has a different secret in line \(first.line).")
            }
        }
        return result
    }
}
