// DBusMessage: encodes and decodes the D-Bus messages that a read-only client needs.
//   (1) Source: D-Bus Specification 0.43, "Type System" and "Message Format".
//   (2) Sizes and nesting depths in a message are checked against the available bytes and a limit
//       before they are used.
//   (3) Calls are written in little-endian order; replies are read in either byte order.

import KeychainCore

/// A value in a message's body.
enum DBusValue: Equatable {
    /// A number or a Boolean, as the unsigned number with the same bits. So a negative or
    /// floating-point number becomes another value.
    case number(UInt64)
    /// A string, an object path or a signature.
    case text(String)
    /// An array of bytes.
    case bytes([UInt8])
    /// An array of other values, a structure or a dictionary entry.
    case list([DBusValue])

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: UInt64? { if case .number(let number) = self { number } else { nil } }
    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var list: [DBusValue]? { if case .list(let list) = self { list } else { nil } }

    /// The value as a dictionary with string keys. The last of several entries with the same key
    /// takes precedence.
    var dictionary: [String: DBusValue]? {
        guard let list else { return nil }
        var result: [String: DBusValue] = [:]
        for entry in list {
            guard let pair = entry.list, pair.count == 2, let key = pair[0].text else { return nil }
            result[key] = pair[1]
        }
        return result
    }
}

// MARK: - Calls

/// An argument of a method call.
enum DBusArgument {
    case string(String)
    case objectPath(String)
    /// A variant that contains this string.
    case variant(String)

    fileprivate var signature: String {
        switch self {
        case .string: "s"
        case .objectPath: "o"
        case .variant: "v"
        }
    }
}

/// A method of a D-Bus object.
struct DBusMethod {
    let destination: String
    let path: String
    let interface: String
    let name: String

    /// Encodes a call. `serial` must be greater than 0.
    func call(_ arguments: [DBusArgument], serial: UInt32) -> [UInt8] {
        var body = DBusWriter()
        for argument in arguments {
            switch argument {
            case .string(let text), .objectPath(let text): body.text(text)
            case .variant(let text):
                body.signature("s")
                body.text(text)
            }
        }
        var fields = DBusWriter()
        for (code, kind, text) in [
            (1, "o", path), (2, "s", interface), (3, "s", name), (6, "s", destination),
        ] as [(UInt8, String, String)] {
            fields.align(8)
            fields.bytes([code])
            fields.signature(kind)
            fields.text(text)
        }
        if !arguments.isEmpty {
            fields.align(8)
            fields.bytes([8])
            fields.signature("g")
            fields.signature(arguments.map(\.signature).joined())
        }
        var message = DBusWriter()
        // The message type is a call, without flags, in protocol version 1.
        message.bytes([UInt8(ascii: "l"), 1, 0, 1])
        message.number(UInt32(body.result.count))
        message.number(serial)
        message.number(UInt32(fields.result.count))
        message.bytes(fields.result)
        message.align(8)
        message.bytes(body.result)
        return message.result
    }
}

private struct DBusWriter {
    private(set) var result: [UInt8] = []

    mutating func align(_ size: Int) {
        while !result.count.isMultiple(of: size) { result.append(0) }
    }

    mutating func bytes(_ bytes: [UInt8]) { result += bytes }

    mutating func number(_ value: UInt32) {
        align(4)
        result += (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    mutating func text(_ text: String) {
        number(UInt32(text.utf8.count))
        result += Array(text.utf8) + [0]
    }

    mutating func signature(_ text: String) {
        result += [UInt8(text.utf8.count)] + Array(text.utf8) + [0]
    }
}

// MARK: - Received messages

/// A message received from the bus.
struct DBusMessage {
    enum Kind: UInt8 {
        case call = 1
        case answer, error, signal
    }

    let kind: Kind
    /// The serial of the call that this message replies to, or 0 if it is not a reply.
    private(set) var answered: UInt32 = 0
    /// The name of the error, if the message reports an error; otherwise empty.
    private(set) var errorName = ""
    private(set) var body: [DBusValue] = []

    /// The number of bytes that are needed to determine the size of a message.
    static let beginning = 16
    /// The maximum size of a message in bytes, according to the specification.
    private static let largest = 1 << 27

    /// The size of a message, determined from its first 16 bytes, or `nil` if they are not the
    /// beginning of a message, or the message is too large.
    static func size(_ beginning: [UInt8]) -> Int? {
        guard beginning.count == Self.beginning, beginning[3] == 1 else { return nil }
        var reader = DBusReader(beginning)
        guard reader.setByteOrder(), reader.skip(to: 4), let body = reader.number(4),
            reader.skip(to: 12), let fields = reader.number(4)
        else { return nil }
        let size = (Self.beginning + Int(fields) + 7) / 8 * 8 + Int(body)
        return size <= largest ? size : nil
    }

    /// - Parameter bytes: The whole message, with the size that `size` returned.
    init?(_ bytes: [UInt8]) {
        var reader = DBusReader(bytes)
        guard bytes.count >= Self.beginning, reader.setByteOrder(),
            let kind = Kind(rawValue: bytes[1]), reader.skip(to: 12),
            let fields = reader.values("a(yv)")?.first?.list, reader.align(8)
        else { return nil }
        self.kind = kind
        var signature = ""
        for field in fields {
            guard let pair = field.list, pair.count == 2 else { return nil }
            switch (pair[0], pair[1]) {
            case (.number(4), .text(let name)): errorName = name
            case (.number(5), .number(let serial)): answered = UInt32(clamping: serial)
            case (.number(8), .text(let text)):
                // A hostile message may have a string instead of a signature. A string can be
                // longer than any signature, and so nest types more deeply.
                guard text.utf8.count <= UInt8.max else { return nil }
                signature = text
            default: break
            }
        }
        guard let body = reader.values(signature), reader.isAtEnd else { return nil }
        self.body = body
    }
}

/// Reads values according to their signature. Each read returns `nil` if the bytes or the signature
/// end too early or are invalid, or values are nested too deeply.
private struct DBusReader {
    private let source: [UInt8]
    private var position = 0
    private var isLittleEndian = true
    /// The maximum nesting depth of values.
    private static let deepest = 64

    init(_ source: [UInt8]) { self.source = source }

    var isAtEnd: Bool { position == source.count }

    mutating func setByteOrder() -> Bool {
        guard let first = source.first, first == UInt8(ascii: "l") || first == UInt8(ascii: "B")
        else { return false }
        isLittleEndian = first == UInt8(ascii: "l")
        return true
    }

    mutating func skip(to position: Int) -> Bool {
        guard position <= source.count else { return false }
        self.position = position
        return true
    }

    mutating func align(_ size: Int) -> Bool { skip(to: (position + size - 1) / size * size) }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= source.count - position else { return nil }
        defer { position += count }
        return source[position..<position + count]
    }

    /// Reads a number of `size` bytes, aligned to its size.
    mutating func number(_ size: Int) -> UInt64? {
        guard align(size), let bytes = take(size) else { return nil }
        let ordered = isLittleEndian ? Array(bytes.reversed()) : Array(bytes)
        return ordered.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a text of `count` bytes and the zero byte after it.
    private mutating func text(_ count: UInt64?) -> String? {
        guard let count, let bytes = take(Int(count)), take(1)?.first == 0 else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    mutating func values(_ signature: String, depth: Int = 0) -> [DBusValue]? {
        var rest = Substring(signature)
        var values: [DBusValue] = []
        while !rest.isEmpty {
            guard let value = value(&rest, depth: depth) else { return nil }
            values.append(value)
        }
        return values
    }

    /// Reads the value of the first type in a signature, and removes that type from the signature.
    private mutating func value(_ signature: inout Substring, depth: Int) -> DBusValue? {
        guard depth < Self.deepest, let code = signature.popFirst() else { return nil }
        switch code {
        case "y": return number(1).map { .number($0) }
        case "n", "q": return number(2).map { .number($0) }
        case "b", "i", "u", "h": return number(4).map { .number($0) }
        case "x", "t", "d": return number(8).map { .number($0) }
        case "s", "o": return text(number(4)).map { .text($0) }
        case "g": return text(number(1)).map { .text($0) }
        case "v":
            guard let inner = text(number(1)), let values = values(inner, depth: depth + 1),
                values.count == 1
            else { return nil }
            return values[0]
        case "(", "{":
            guard align(8),
                let inner = Self.contents(&signature, closedBy: code == "(" ? ")" : "}"),
                !inner.isEmpty
            else { return nil }
            return values(inner, depth: depth + 1).map { .list($0) }
        case "a":
            guard let element = Self.type(&signature), let count = number(4),
                align("({xtd".contains(element.first ?? "y") ? 8 : 1),
                count <= UInt64(source.count - position)
            else { return nil }
            if element == "y" { return take(Int(count)).map { .bytes(Array($0)) } }
            let end = position + Int(count)
            var elements: [DBusValue] = []
            while position < end {
                guard let values = values(element, depth: depth + 1) else { return nil }
                elements += values
            }
            return position == end ? .list(elements) : nil
        default: return nil
        }
    }

    /// Removes the first complete type from a signature, and returns it.
    private static func type(_ signature: inout Substring) -> String? {
        guard let code = signature.popFirst() else { return nil }
        switch code {
        case "a": return type(&signature).map { "a" + $0 }
        case "(": return contents(&signature, closedBy: ")").map { "(" + $0 + ")" }
        case "{": return contents(&signature, closedBy: "}").map { "{" + $0 + "}" }
        default: return String(code)
        }
    }

    /// Removes everything up to and including the closing bracket from a signature. Returns what
    /// was before the bracket.
    private static func contents(
        _ signature: inout Substring, closedBy end: Character
    ) -> String? {
        var result = ""
        while let next = signature.first {
            if next == end {
                signature.removeFirst()
                return result
            }
            guard let type = type(&signature) else { return nil }
            result += type
        }
        return nil
    }
}
