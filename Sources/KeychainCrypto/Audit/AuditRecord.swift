// AuditRecord: one line of an audit, in the format of Documentation/Formats/audit-v1.md.
//   (1) A field contains no space and no line end, whatever the name of a program is.
//   (2) No field contains the name or an attribute value of an item, with one exception: the record
//       of systemd's request for the credential of a unit contains the unit's name, which is also
//       the item's service.

package import KeychainCore

package struct AuditRecord: Hashable, Sendable {
    /// The number of the record, consecutive from 1.
    package var number: UInt64
    /// Milliseconds since 1970-01-01 00:00:00 UTC.
    package var moment: Int64
    /// The user id of the client.
    package var user: UInt32
    package var process: Int32
    /// The service's identification of the client program; for a request by systemd, the unit's
    /// name. Empty for the service itself.
    package var identity: String
    package var operation: String
    /// `nil` if the operation is not about items, or the class is unknown.
    package var itemClass: String?
    /// Apple's status code of the answer. In the service's own records, its meaning depends on the
    /// operation.
    package var result: Int64
    /// The labels of the items that were returned, added, changed or deleted.
    package var items: [Bytes16]
    /// The number of further items beyond those in ``items``.
    package var unnamedItemCount = 0

    /// The maximum number of items in a record.
    package static let itemLimit = 16
    /// The maximum size of an identity in bytes, which is the kernel's limit for paths.
    package static let identityByteLimit = 4096
    /// The maximum size of a line in bytes, including its end.
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

    // MARK: The record's line

    /// The bytes from which the tag is computed.
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

    /// The line, including its end.
    package static func line(_ encoded: [UInt8], tag: [UInt8]) -> [UInt8] {
        encoded + Array(" \(Hexadecimal.text(tag))\n".utf8)
    }

    /// Decodes a line without its tag. Returns `nil` if it is malformed.
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

    /// Splits a line, without its end, into its two parts. Returns `nil` if it has no tag.
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

    /// Encodes a field. Graphic ASCII except the percent sign stays as it is, and any other byte
    /// becomes % and two digits. An empty field becomes a hyphen, and a hyphen alone becomes %2d.
    /// Only the first ``identityByteLimit`` bytes of the text are encoded.
    private static func escaped(_ text: String) -> String {
        if text.isEmpty { return "-" }
        if text == "-" { return "%2d" }
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8.prefix(identityByteLimit) {
            if (0x21...0x7E).contains(byte), byte != 0x25 {
                result.append(byte)
            } else {
                result += "%\(Hexadecimal.text([byte]))".utf8
            }
        }
        return String(decoding: result, as: UTF8.self)
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

/// An event of the audit itself that the service records. The raw value is the operation.
package enum AuditEvent: String, CaseIterable, Sendable {
    /// The service started. The result is the number of bytes after the last valid record that were
    /// removed, such as those of an incomplete record.
    case start = "audit-start"
    /// The service ended in the regular way.
    case end = "audit-end"
    /// Writing works again after a time when the audit couldn't be written. The result is the
    /// number of requests without a record.
    case resume = "audit-resume"
    /// Records before this one were missing from the file, although the anchor counted them.
    case gap = "audit-gap"
    /// The oldest files, usually one, are removed. The result is the number of the last record in
    /// them.
    case prune = "audit-prune"
}
