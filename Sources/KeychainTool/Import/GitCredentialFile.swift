// GitCredentialFile: parses the file of git's `store` helper. According to git-credential-store(1),
// each line is a URL with user and password, both percent-encoded.

enum GitCredentialFile {
    static func items(in text: String) throws(ImportProblem) -> [ImportedItem] {
        var items: [ImportedItem] = []
        for (index, whole) in text.lines.enumerated() {
            let line = whole.withoutReturn
            // git ignores empty lines and comments.
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            guard let item = item(of: line, line: index + 1) else {
                throw ImportProblem(
                    line: index + 1, text: "The line is not PROTOCOL://USER:PASSWORD@HOST.")
            }
            items.append(item)
        }
        return items
    }

    private static func item(of line: Substring, line number: Int) -> ImportedItem? {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[1].hasPrefix("//") else { return nil }
        let rest = parts[1].dropFirst(2)
        let authority = rest.prefix { $0 != "/" }
        guard let sign = authority.lastIndex(of: "@") else { return nil }
        guard let login = authority[..<sign].split(atFirst: ":"),
            let user = decoded(login.before), let password = decoded(login.after),
            let place = decoded(authority[authority.index(after: sign)...]),
            let (host, port) = NetworkNames.hostAndPort(place[...]),
            let path = decoded(rest.dropFirst(authority.count + 1))
        else { return nil }
        return ImportedItem(
            server: host, account: user, protocolName: String(parts[0]), port: port,
            path: path.isEmpty ? nil : path, secret: password, line: number)
    }

    /// Decodes percent-encoding. Returns `nil` if a percent sign is not followed by two hexadecimal
    /// digits, or if the result contains a zero byte or is not UTF-8.
    static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst(),
                let first = digit(high), let second = digit(low)
            else { return nil }
            bytes.append(first << 4 | second)
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
