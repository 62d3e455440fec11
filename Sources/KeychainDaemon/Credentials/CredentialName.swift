// CredentialName: which credential of which unit systemd asks for. It says so by the name that its
// socket has: 16 hexadecimal digits or fewer, which are random, `/unit/`, the unit's name, `/` and
// the credential's (systemd.exec(5), LoadCredential=).

struct CredentialName: Hashable, Sendable {
    let unit: String
    let credential: String

    /// The access group of the items that are credentials: what answers for systemd sees no others.
    static let group = "systemd"

    init(unit: String, credential: String) {
        self.unit = unit
        self.credential = credential
    }

    /// - Returns: nil for any other name.
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

    /// Letters, digits and `:-_.\@`, as systemd.unit(5) has it.
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
    /// Whether it makes or hides something where text is shown.
    fileprivate var isControl: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        default: false
        }
    }
}
