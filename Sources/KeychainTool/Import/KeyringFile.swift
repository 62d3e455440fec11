// KeyringFile: parses a keyring of gnome-keyring, `~/.local/share/keyrings/*.keyring`. Its two
// formats are described in gnome-keyring's docs/file-format.txt.
//   (1) A keyring with a password is encrypted. A keyring without a password is a text file.
//   (2) A network password with a server is imported as an internet password, and any other item as
//       a generic password. The service of a generic password is the item's attribute `service` or,
//       without one, the item's name. The name is used because the other attributes of a program's
//       items are often all the same.
//   (3) If a size or count exceeds the available bytes, reading fails and no items are returned.

import FoundationEssentials
import KeychainCore
import KeychainCrypto

enum KeyringFile {
    private static let magic = Array("GnomeKeyring\n\r\0\n".utf8)

    /// An item, independent of the format.
    struct Item {
        var name = ""
        var secret = Data()
        /// The modification time, in seconds since 1970.
        var modified: UInt64 = 0
        var isForNetwork = false
        var attributes: [String: String] = [:]
    }

    static func isEncrypted(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    /// Returns all items of a keyring. `password` is required if the keyring is encrypted.
    ///
    /// - Throws: ``ImportProblem``, with line 0 if the file as a whole can't be read: it has an
    ///   unknown format or is truncated, or the password is wrong.
    static func items(
        in bytes: [UInt8], password: SecretBytes?
    ) throws(ImportProblem) -> [ImportedItem] {
        guard isEncrypted(bytes) else { return try distinct(KeyringText.items(in: bytes)) }
        var reader = KeyringReader(Array(bytes.dropFirst(magic.count)))
        guard let version = reader.bytes(4), version == [0, 0, 0, 0] else {
            throw ImportProblem(line: 0, text: "This keyring has an unknown version.")
        }
        let isWhole: Void? = reader.header()
        guard isWhole != nil, let salt = reader.salt, let networks = reader.networkFlags(),
            let ciphertext = reader.sized()
        else { throw cutOff }
        guard let password,
            let content = KeyringEncryption.open(
                ciphertext, password: password, salt: salt, iterations: reader.iterations)
        else {
            throw ImportProblem(
                line: 0, text: "The password is wrong, or the file was altered.")
        }
        var inner = KeyringReader(Array(content))
        var items: [Item] = []
        for isForNetwork in networks {
            guard var item = inner.item() else { throw cutOff }
            item.isForNetwork = isForNetwork
            items.append(item)
        }
        return distinct(items)
    }

    private static let cutOff = ImportProblem(line: 0, text: "The keyring is truncated or altered.")

    // MARK: Conversion

    /// Converts the items. If several have the same primary key, a number is appended to the
    /// service or server of all but the first.
    static func distinct(_ items: [Item]) -> [ImportedItem] {
        var names: Set<[String]> = []
        return items.map { item in
            var number = 1
            while true {
                let imported = imported(item, suffix: number == 1 ? "" : " (\(number))")
                if names.insert(imported.identity).inserted { return imported }
                number += 1
            }
        }
    }

    private static func imported(_ item: Item, suffix: String) -> ImportedItem {
        func first(_ names: String...) -> String? {
            names.lazy.compactMap { item.attributes[$0] }.first { !$0.isEmpty }
        }
        var keys: Attributes = [:]
        let account = first("username", "account", "user") ?? ""
        let isForNetwork =
            item.isForNetwork
            || item.attributes["xdg:schema"] == "org.gnome.keyring.NetworkPassword"
        keys[.account] = .string(account)
        if isForNetwork, let server = first("server") {
            keys[.server] = .string(server + suffix)
            keys[.protocolType] = first("protocol").flatMap {
                NetworkNames.value(of: $0, for: .protocolType)
            }
            keys[.port] = first("port").flatMap { UInt16($0) }.map { .number(Int64($0)) }
            keys[.path] = first("object").map { .string($0) }
            keys[.securityDomain] = first("domain").map { .string($0) }
        } else {
            keys[.service] = .string((first("service") ?? item.name) + suffix)
        }
        var result = ImportedItem(
            itemClass: keys[.server] == nil ? .genericPassword : .internetPassword, keys: keys,
            remarks: item.name.isEmpty ? [:] : [.label: .string(item.name)], data: item.secret,
            line: 0)
        if item.modified > 0 {
            result.modified =
                Double(item.modified) - Date.timeIntervalBetween1970AndReferenceDate
        }
        return result
    }
}

// MARK: - Encrypted keyrings

/// Reads the fields of a keyring. Each read returns `nil` if not enough bytes are left, or if an
/// attribute is neither text nor a number.
private struct KeyringReader {
    private var reader: ByteReader
    private(set) var salt: [UInt8]?
    private(set) var iterations: UInt32 = 0

    init(_ bytes: [UInt8]) { reader = ByteReader(bytes) }

    mutating func bytes(_ count: Int) -> [UInt8]? { reader.bytes(count) }

    private mutating func number() -> UInt32? { reader.number() }

    /// Reads bytes that are preceded by their size.
    mutating func sized() -> [UInt8]? {
        guard let count = number() else { return nil }
        return reader.bytes(Int(count))
    }

    /// Reads a text. The size 2^32 - 1 stands for a missing text, which is returned as empty.
    private mutating func text() -> [UInt8]? {
        guard let count = number() else { return nil }
        return count == .max ? [] : reader.bytes(Int(count))
    }

    private mutating func plainText() -> String? {
        text().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads the header: the name, the times, the flags, the lock timeout, and the parameters of
    /// the key derivation. Only the parameters of the key derivation, `salt` and `iterations`, are
    /// kept.
    mutating func header() -> Void? {
        guard text() != nil, reader.bytes(16 + 8) != nil, let iterations = number(),
            let salt = reader.bytes(8), reader.bytes(16) != nil
        else { return nil }
        self.salt = salt
        self.iterations = iterations
        return ()
    }

    /// Reads the unencrypted list of items. Returns, for each, whether it is a network password.
    mutating func networkFlags() -> [Bool]? {
        guard let count = number() else { return nil }
        var flags: [Bool] = []
        for _ in 0..<count {
            guard reader.bytes(4) != nil, let type = number(), attributes() != nil else {
                return nil
            }
            flags.append(type & 0xFFFF == 1)
        }
        return flags
    }

    /// Reads attributes and returns their values by name. Numbers are returned as text.
    private mutating func attributes() -> [String: String]? {
        guard let count = number() else { return nil }
        var attributes: [String: String] = [:]
        for _ in 0..<count {
            guard let name = plainText(), let kind = number() else { return nil }
            switch kind {
            case 0:
                guard let value = plainText() else { return nil }
                attributes[name] = value
            case 1:
                guard let value = number() else { return nil }
                attributes[name] = String(value)
            default: return nil
            }
        }
        return attributes
    }

    mutating func item() -> KeyringFile.Item? {
        var item = KeyringFile.Item()
        guard let name = plainText(), let secret = text(), reader.bytes(8) != nil,
            let modified: UInt64 = reader.number(), text() != nil, reader.bytes(16) != nil,
            let attributes = attributes(), let count = number()
        else { return nil }
        // The list of programs that may read the item is ignored.
        for _ in 0..<count {
            guard number() != nil, text() != nil, text() != nil, text() != nil, number() != nil
            else { return nil }
        }
        item.name = name
        item.secret = Data(secret)
        item.modified = modified
        item.attributes = attributes
        return item
    }
}

// MARK: - Unencrypted keyrings

private enum KeyringText {
    static func items(in bytes: [UInt8]) throws(ImportProblem) -> [KeyringFile.Item] {
        guard let text = String(validating: bytes, as: UTF8.self),
            text.hasPrefix("[keyring]")
        else { throw ImportProblem(line: 0, text: "This is not a keyring of gnome-keyring.") }
        var items: [Int: KeyringFile.Item] = [:]
        var number: Int?
        var attribute = ""
        for (index, whole) in text.lines.enumerated() {
            let line = whole.withoutReturn
            if line.hasPrefix("["), line.hasSuffix("]") {
                let heading = line.dropFirst().dropLast().split(separator: ":")
                number = heading.first.flatMap { Int($0) }
                if let number, heading.count == 1 { items[number] = KeyringFile.Item() }
                attribute = heading.count == 2 ? String(heading[1]) : ""
                continue
            }
            guard let number, let parts = line.split(atFirst: "=") else { continue }
            guard var item = items[number] else {
                throw ImportProblem(line: index + 1, text: "The line belongs to no item.")
            }
            let value = unescaped(parts.after)
            // The name of an attribute precedes its value. Once the name has been read, `attribute`
            // is an equals sign followed by the name.
            switch (attribute, parts.before) {
            case ("", "display-name"): item.name = value
            case ("", "secret"): item.secret = Data(value.utf8)
            case ("", "binary-secret"):
                guard let secret = data(hexadecimal: value) else {
                    throw ImportProblem(line: index + 1, text: "The value is not hexadecimal.")
                }
                item.secret = secret
            case ("", "mtime"): item.modified = UInt64(value) ?? 0
            case ("", "item-type"): item.isForNetwork = value == "1"
            case (_, "name") where attribute.hasPrefix("attribute"): attribute = "=" + value
            case (_, "value") where attribute.hasPrefix("="):
                item.attributes[String(attribute.dropFirst())] = value
            default: break
            }
            items[number] = item
        }
        return items.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Replaces the escape sequences of GLib's key files.
    private static func unescaped(_ text: Substring) -> String {
        var result = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                isEscaped = false
                switch scalar {
                case "n": result.append("\n")
                case "r": result.append("\r")
                case "t": result.append("\t")
                case "s": result.append(" ")
                default: result.append(scalar)
                }
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func data(hexadecimal text: String) -> Data? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return Data(
            stride(from: 0, to: digits.count, by: 2).map {
                UInt8(digits[$0] << 4 | digits[$0 + 1])
            })
    }
}
