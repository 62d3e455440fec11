// PasswordTable: parses exports of KeePassXC and browsers: tables of comma-separated values (RFC
// 4180) with column names in the first line.
//   (1) Columns are recognized by their names, in any order and case: those of KeePassXC, Chrome,
//       Firefox, Safari and related programs. Other columns are ignored.
//   (2) An entry whose address is a URL with a host is imported as an internet password. Any other
//       entry becomes a generic password, whose service is the title or, without a title, the text
//       in the address column. An entry without a password becomes neither kind of item. An entry
//       with a password or a key for one-time codes, but with neither a title nor an address, is an
//       error.
//   (3) The key for one-time codes, if an entry has one, becomes a separate item, which
//       `keychainctl otp` reads.

enum PasswordTable {
    private enum Column: CaseIterable {
        case title, address, user, password, codes, modified

        var names: [String] {
            switch self {
            case .title: ["title", "name"]
            case .address: ["url", "login_uri"]
            case .user: ["username", "login_username"]
            case .password: ["password", "login_password"]
            case .codes: ["totp", "otpauth", "login_totp"]
            case .modified: ["last modified", "modified"]
            }
        }
    }

    static func items(in text: String) throws(ImportProblem) -> [ImportedItem] {
        var rows = try CommaSeparatedValues.rows(in: text)
        guard !rows.isEmpty else { return [] }
        let header = rows.removeFirst().fields.map { $0.lowercased() }
        var columns: [Column: Int] = [:]
        for column in Column.allCases {
            columns[column] = header.firstIndex { column.names.contains($0) }
        }
        guard columns[.password] != nil, columns[.title] != nil || columns[.address] != nil else {
            throw ImportProblem(
                line: 1,
                text: "The first line has no column “password”, or neither “url” nor “title”.")
        }
        var items: [ImportedItem] = []
        for row in rows {
            guard row.fields.count == header.count else {
                throw ImportProblem(
                    line: row.line,
                    text: "The line has \(row.fields.count) values for \(header.count) columns.")
            }
            func value(_ column: Column) -> String { columns[column].map { row.fields[$0] } ?? "" }
            let (title, user) = (value(.title), value(.user))
            let modified = Timestamp.seconds(value(.modified))
            if !value(.password).isEmpty {
                guard
                    var item = item(
                        title: title, address: value(.address), user: user,
                        secret: value(.password), line: row.line)
                else { throw nameless(row.line) }
                item.modified = modified
                items.append(item)
            }
            if !value(.codes).isEmpty {
                let name = title.isEmpty ? value(.address) : title
                guard !name.isEmpty else { throw nameless(row.line) }
                var item = try codes(value(.codes), of: name, user, line: row.line)
                item.modified = modified
                items.append(item)
            }
        }
        return items
    }

    private static func nameless(_ line: Int) -> ImportProblem {
        ImportProblem(line: line, text: "The entry has neither a title nor a web address.")
    }

    private static func item(
        title: String, address: String, user: String, secret: String, line: Int
    ) -> ImportedItem? {
        if let place = WebAddress(address) {
            return ImportedItem(
                server: place.host, account: user, protocolName: place.scheme, port: place.port,
                path: place.path, label: title.isEmpty ? nil : title, secret: secret, line: line)
        }
        let service = title.isEmpty ? address : title
        guard !service.isEmpty else { return nil }
        return ImportedItem(service: service, account: user, secret: secret, line: line)
    }

    private static func codes(
        _ text: String, of name: String, _ user: String, line: Int
    ) throws(ImportProblem) -> ImportedItem {
        do throws(OneTimeSecret.Problem) {
            let secret =
                text.lowercased().hasPrefix("otpauth:")
                ? try OneTimeSecret(text)
                : try OneTimeSecret(base32: text, label: name, parameters: [])
            return ImportedItem(
                service: name + " (TOTP)", account: user, secret: secret.uri, line: line)
        } catch {
            throw ImportProblem(line: line, text: "The key for one-time codes: \(error.text)")
        }
    }
}

/// The web address that a password belongs to.
private struct WebAddress {
    let scheme: String
    let host: String
    let port: Int?
    let path: String?

    /// Parses a URL, and ignores its user, query and fragment. Returns `nil` if the text is not a
    /// URL with `//`, has no host, or has an invalid port.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasPrefix("//") else { return nil }
        let whole = parts[1].dropFirst(2).prefix { $0 != "?" && $0 != "#" }
        var place = whole.prefix { $0 != "/" }
        let rest = whole.dropFirst(place.count)
        if let sign = place.lastIndex(of: "@") { place = place[place.index(after: sign)...] }
        guard let (host, port) = NetworkNames.hostAndPort(place) else { return nil }
        scheme = parts[0].lowercased()
        (self.host, self.port) = (host, port)
        path = rest.count > 1 ? String(rest) : nil
    }
}
