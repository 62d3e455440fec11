// SecurityListing: formats an item as macOS's security(1) does, for programs that parse its output.
//   (1) The attributes and their order are fixed for each class: those of a file-based keychain. An
//       attribute that the item doesn't have is <NULL>, except the port, which is 0.
//   (2) A value that consists of printable ASCII characters other than the backslash is in quotes,
//       unescaped. Any other value is 0xHEX, followed by the text with octal escapes if the value
//       contains at least one such character. `word` formats numbers and codes of four bytes.

import FoundationEssentials
import KeychainCore

enum SecurityListing {
    private enum Format: String {
        case blob, timedate, uint32, sint32
    }

    private static let generic: [(Attribute, Format)] = [
        (.account, .blob), (.creationDate, .timedate), (.creator, .uint32),
        (.customIcon, .sint32), (.description, .blob), (.generic, .blob), (.comment, .blob),
        (.isInvisible, .sint32), (.modificationDate, .timedate), (.isNegative, .sint32),
        (.legacyProtected, .blob), (.scriptCode, .sint32), (.service, .blob), (.type, .uint32),
    ]

    private static let internet: [(Attribute, Format)] = [
        (.account, .blob), (.authenticationType, .blob), (.creationDate, .timedate),
        (.creator, .uint32), (.customIcon, .sint32), (.description, .blob), (.comment, .blob),
        (.isInvisible, .sint32), (.modificationDate, .timedate), (.isNegative, .sint32),
        (.path, .blob), (.port, .uint32), (.legacyProtected, .blob), (.protocolType, .uint32),
        (.scriptCode, .sint32), (.securityDomain, .blob), (.server, .blob), (.type, .uint32),
    ]

    /// The lines for an item. The first one contains the path of its keychain.
    static func text(of item: ItemSnapshot, in keychain: String) -> String {
        let isGeneric = item.itemClass == .genericPassword
        var lines = [
            "keychain: " + buffer(Array(keychain.utf8)), "version: 512",
            "class: \"\(isGeneric ? "genp" : "inet")\"", "attributes:",
            // Label and alias have numbers instead of names.
            "    0x00000007 <blob>=" + value(item.attributes[.label], .blob),
            "    0x00000008 <blob>=" + value(item.attributes[.alias], .blob),
        ]
        for (name, format) in isGeneric ? generic : internet {
            var attribute = item.attributes[name]
            // In a file-based keychain, every item has a port.
            if name == .port { attribute = attribute ?? .number(0) }
            lines.append("    \"\(name.name)\"<\(format.rawValue)>=" + value(attribute, format))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func value(_ value: AttributeValue?, _ format: Format) -> String {
        guard let value else { return "<NULL>" }
        switch (value, format) {
        case (.date(let seconds), _):
            let digits = timestamp(seconds).filter(\.isNumber)
            return buffer(Array("\(digits)Z\0".utf8))
        case (.number(let number), .uint32), (.number(let number), .sint32):
            let code = UInt32(truncatingIfNeeded: number)
            return word([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> UInt32($0)) })
        case (.string(let text), .uint32) where text.utf8.count == 4:
            return word(Array(text.utf8))
        case (.number(let number), _): return buffer(Array(String(number).utf8))
        case (.string(let text), _): return buffer(Array(text.utf8))
        case (.data(let data), _): return buffer(Array(data))
        }
    }

    /// Formats four bytes: as characters in quotes if all are printable, otherwise as a hexadecimal
    /// number followed by a space.
    private static func word(_ bytes: [UInt8]) -> String {
        bytes.allSatisfy(isPrintable)
            ? "\"\(String(decoding: bytes, as: UTF8.self))\""
            : "0x\(hexadecimal(bytes, uppercase: true)) "
    }

    /// Formats bytes as they appear after `password: ` and `=`.
    static func buffer(_ bytes: [UInt8]) -> String {
        let backslash = UInt8(ascii: "\\")
        func isPlain(_ byte: UInt8) -> Bool { isPrintable(byte) && byte != backslash }
        guard !bytes.allSatisfy(isPlain) else {
            return "\"\(String(decoding: bytes, as: UTF8.self))\""
        }
        let digits = "0x\(hexadecimal(bytes, uppercase: true)) "
        guard bytes.contains(where: isPlain) else { return digits }
        let escaped = bytes.map { byte in
            guard !isPlain(byte) else { return String(UnicodeScalar(byte)) }
            let octal = String(byte, radix: 8)
            return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
        }
        return "\(digits) \"\(escaped.joined())\""
    }

    /// Formats a secret as `find-generic-password -w` does: as hexadecimal digits if any byte is
    /// not printable.
    static func line(_ secret: [UInt8]) -> [UInt8] {
        let text =
            secret.allSatisfy(isPrintable)
            ? secret : Array(hexadecimal(secret, uppercase: false).utf8)
        return text + [UInt8(ascii: "\n")]
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }

    private static func hexadecimal(_ bytes: [UInt8], uppercase: Bool) -> String {
        bytes.map {
            ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: uppercase)
        }.joined()
    }
}
