// KeychainDump: parses the output of macOS's `security dump-keychain -d`: the passwords of a
// keychain file.
//   (1) Each entry begins with `keychain:` and has `class:`, attributes, and `data:` with the
//       secret on the next line.
//   (2) A value is "TEXT", 0xHEX or <NULL>. After 0xHEX, the same value may follow as text. In
//       "TEXT" nothing is escaped: a value with characters that would need escaping is written as
//       0xHEX.
//   (3) Entries that aren't passwords are skipped: keys and certificates have their own export
//       formats. A password is skipped if its secret is missing, contains a zero byte or is not
//       UTF-8.

enum KeychainDump {
    private struct Entry {
        let line: Int
        var itemClass = ""
        var attributes: [String: [UInt8]] = [:]
        var secret: [UInt8]?
    }

    static func items(in text: String) throws(ImportProblem) -> [ImportedItem] {
        var entries: [Entry] = []
        var isData = false
        for (index, line) in text.lines.enumerated() {
            if line.hasPrefix("keychain: ") {
                entries.append(Entry(line: index + 1))
                isData = false
                continue
            }
            guard !entries.isEmpty else {
                guard line.isEmpty else {
                    throw ImportProblem(
                        line: index + 1, text: "The line doesn't begin with “keychain: ”.")
                }
                continue
            }
            let last = entries.count - 1
            if isData {
                isData = false
                guard line.isEmpty || value(line[...]) != nil else {
                    throw ImportProblem(
                        line: index + 1, text: "The line after “data:” is not a value.")
                }
                entries[last].secret = value(line)
            } else if line == "data:" {
                isData = true
            } else if line.hasPrefix("class: ") {
                let text = value(line.dropFirst(7)).map { String(decoding: $0, as: UTF8.self) }
                entries[last].itemClass = text ?? ""
            } else if line.hasPrefix("    "), let (name, value) = attribute(line.dropFirst(4)) {
                entries[last].attributes[name] = value
            }
        }
        return entries.compactMap(item)
    }

    private static func item(_ entry: Entry) -> ImportedItem? {
        var item = password(entry)
        // The value is a time such as `20260501120000Z`, followed by a NUL.
        let date = entry.attributes["mdat"].map { String(decoding: $0.prefix(15), as: UTF8.self) }
        item?.modified = date.flatMap { Timestamp.seconds(digits: $0.prefix(14)) }
        return item
    }

    private static func password(_ entry: Entry) -> ImportedItem? {
        func text(_ name: String) -> String {
            entry.attributes[name].flatMap { String(validating: $0, as: UTF8.self) } ?? ""
        }
        guard let bytes = entry.secret, !bytes.contains(0),
            let secret = String(validating: bytes, as: UTF8.self)
        else { return nil }
        // The attribute for the label is identified by a number instead of a name.
        let label = text("0x00000007").isEmpty ? nil : text("0x00000007")
        switch entry.itemClass {
        case "genp":
            return ImportedItem(
                service: text("svce"), account: text("acct"), label: label, secret: secret,
                line: entry.line)
        case "inet":
            let port = entry.attributes["port"].map { $0.reduce(0) { $0 << 8 | Int($1) } }
            return ImportedItem(
                server: text("srvr"), account: text("acct"),
                protocolName: text("ptcl").isEmpty ? nil : text("ptcl"),
                port: port == 0 ? nil : port, path: text("path").isEmpty ? nil : text("path"),
                label: label, secret: secret, line: entry.line)
        default: return nil
        }
    }

    /// Parses a line such as `"acct"<blob>="ada"` into name and value.
    private static func attribute(_ text: Substring) -> (String, [UInt8])? {
        let name = text.prefix { $0 != "<" && $0 != " " }
        guard let sign = text.firstIndex(of: "=") else { return nil }
        let bare = name.hasPrefix("\"") ? name.dropFirst().dropLast() : name
        return value(text[text.index(after: sign)...]).map { (String(bare), $0) }
    }

    /// Parses a value. Returns `nil` for <NULL> and for an invalid value.
    private static func value(_ text: Substring) -> [UInt8]? {
        if text.hasPrefix("0x") {
            let digits = Array(text.dropFirst(2).prefix { $0.isHexDigit }.utf8)
            guard digits.count.isMultiple(of: 2), !digits.isEmpty else { return nil }
            return stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
            }
        }
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        return Array(text.dropFirst().dropLast().utf8)
    }
}
