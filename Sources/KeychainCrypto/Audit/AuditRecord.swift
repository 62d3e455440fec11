// AuditRecord: one line of an audit. Documentation/Formats/audit-v1.md is the format.
//   (1) A field holds no space and no end of line, whatever a program is called.
//   (2) No field has a name or a value of an item.

package import KeychainCore

package struct AuditRecord: Hashable, Sendable {
    /// 1 and up, one after the other.
    package var number: UInt64
    /// Milliseconds since 1970-01-01 00:00:00 UTC.
    package var moment: Int64
    /// Who asked.
    package var user: UInt32
    package var process: Int32
    /// What the service takes the program for. Empty: the service itself.
    package var identity: String
    package var operation: String
    /// nil: it is about no items, or it isn't known.
    package var itemClass: String?
    /// Apple's status of the answer. Of the service's own records: what their operation says.
    package var result: Int64
    /// Which items were given, changed or deleted.
    package var items: [Bytes16]
    /// How many more they were.
    package var unnamedItemCount = 0

    /// The most items that a record names.
    package static let itemLimit = 16
    /// The most bytes of an identity. A path of the kernel has no more.
    package static let identityByteLimit = 4096
    /// No line is longer, its end included.
    package static let lineByteLimit = 1 << 14

    package init(
        number: UInt64 = 0, moment: Int64 = 0, user: UInt32, process: Int32, identity: String,
        operation: String, itemClass: String? = nil, result: Int64 = 0, items: [Bytes16] = []
    ) {
        self.number = number
        self.moment = moment
        self.user = user
        self.process = process
        self.identity = identity
        self.operation = operation
        self.itemClass = itemClass
        self.result = result
        self.items = Array(items.prefix(Self.itemLimit))
        unnamedItemCount = items.count - self.items.count
    }

    // MARK: Its line

    /// What the tag is made of.
    package var encoded: [UInt8] {
        var labels = items.map { Hexadecimal.text($0.bytes) }
        if unnamedItemCount > 0 { labels.append("+\(unnamedItemCount)") }
        return Array(
            [
                "\(number)", "\(moment)", "\(user)", "\(process)", Self.escaped(identity),
                Self.escaped(operation), Self.escaped(itemClass ?? ""), "\(result)",
                labels.isEmpty ? "-" : labels.joined(separator: ","),
            ].joined(separator: " ").utf8)
    }

    /// The line, with its end.
    package static func line(_ encoded: [UInt8], tag: [UInt8]) -> [UInt8] {
        encoded + Array(" \(Hexadecimal.text(tag))\n".utf8)
    }

    /// Reads a line, without its tag. nil: no service wrote it.
    package init?(encoded: some Collection<UInt8>) {
        let fields = String(decoding: encoded, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count == 9, let number = UInt64(fields[0]), let moment = Int64(fields[1]),
            let user = UInt32(fields[2]), let process = Int32(fields[3]),
            let identity = Self.unescaped(fields[4]), let operation = Self.unescaped(fields[5]),
            let itemClass = Self.unescaped(fields[6]), let result = Int64(fields[7])
        else { return nil }
        self.init(
            number: number, moment: moment, user: user, process: process, identity: identity,
            operation: operation, itemClass: itemClass.isEmpty ? nil : itemClass, result: result)
        for label in fields[8] == "-" ? [] : fields[8].split(separator: ",") {
            if label.hasPrefix("+"), let count = Int(label.dropFirst()) {
                unnamedItemCount = count
            } else if let label = Hexadecimal.bytes(label).flatMap(Bytes16.init) {
                items.append(label)
            } else {
                return nil
            }
        }
    }

    /// The two parts of a line without its end. nil: it has no tag.
    package static func parts(
        of line: some BidirectionalCollection<UInt8>
    ) -> (encoded: [UInt8], tag: [UInt8])? {
        guard let space = line.lastIndex(of: 0x20),
            let tag = Hexadecimal.bytes(
                String(decoding: line[line.index(after: space)...], as: UTF8.self)),
            tag.count == AuditHead.byteCount
        else { return nil }
        return (Array(line[..<space]), tag)
    }

    // MARK: Fields

    /// Graphic ASCII but the percent sign stands for itself, any other byte as % and two digits;
    /// nothing at all is a hyphen.
    private static func escaped(_ text: String) -> String {
        if text.isEmpty { return "-" }
        if text == "-" { return "%2d" }
        return text.utf8.prefix(identityByteLimit).map { byte in
            (0x21...0x7E).contains(byte) && byte != 0x25
                ? String(UnicodeScalar(byte)) : "%" + Hexadecimal.text([byte])
        }.joined()
    }

    private static func unescaped(_ field: Substring) -> String? {
        if field == "-" { return "" }
        var bytes: [UInt8] = []
        var rest = field.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let value = Hexadecimal.bytes(Substring(rest.prefix(2))), value.count == 1 else {
                return nil
            }
            bytes += value
            rest = rest.dropFirst(2)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

/// What the service says of the audit itself. The raw value is the operation.
package enum AuditEvent: String, CaseIterable, Sendable {
    /// The service started. Its result is how many bytes of an unfinished record were removed.
    case start = "audit-start"
    /// The service ended as it was told to.
    case end = "audit-end"
    /// The audit couldn't be written for a while. Its result is how many requests have no record.
    case resume = "audit-resume"
    /// The records before this one that the anchor knows of were not in the file.
    case gap = "audit-gap"
    /// The oldest file was removed. Its result is the number of the last record that is gone.
    case prune = "audit-prune"
}
