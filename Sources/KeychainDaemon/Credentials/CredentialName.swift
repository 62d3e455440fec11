// CredentialName: the unit and the credential that systemd requests. systemd encodes them in the
// abstract name of the socket that it connects from: 1 to 16 random hexadecimal digits, `/unit/`,
// the name of the unit, `/`, and the name of the credential (systemd.exec(5), LoadCredential=).

struct CredentialName: Hashable, Sendable {
    let unit: String
    let credential: String

    /// The access group of all items that are credentials. The credential server sees no other
    /// items.
    static let group = "systemd"

    init(unit: String, credential: String) {
        self.unit = unit
        self.credential = credential
    }

    /// Parses the abstract name of a peer's socket, without its leading zero byte.
    ///
    /// - Returns: `nil` if the name doesn't have this form.
    init?(_ name: [UInt8]) {
        guard let text = String(validating: name, as: UTF8.self) else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, (1...16).contains(parts[0].utf8.count),
            parts[0].utf8.allSatisfy(Self.isHexadecimal), parts[1] == "unit",
            !parts[2].isEmpty, parts[2].utf8.allSatisfy(Self.isOfUnit), !parts[3].isEmpty,
            parts[3].unicodeScalars.allSatisfy({ !$0.properties.generalCategory.isControl })
        else { return nil }
        self.init(unit: String(parts[2]), credential: String(parts[3]))
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        "0123456789abcdef".utf8.contains(byte)
    }

    /// Whether a byte is a letter, a digit or one of `:-_.\@`, the characters that systemd.unit(5)
    /// allows.
    private static func isOfUnit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: ":-_.\\@".utf8.contains(byte)
        }
    }
}

extension Unicode.GeneralCategory {
    /// Whether characters of this category are invisible or change how the text around them is
    /// displayed.
    fileprivate var isControl: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        default: false
        }
    }
}
