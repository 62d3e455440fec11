// OneTimeSecret: the key and parameters of one-time codes, as an otpauth: URI.
//   (1) The grammar is google-authenticator's Key URI Format: otpauth://TYPE/LABEL?PARAMETERS, with
//       the parameters secret, issuer, algorithm, digits, counter and period.
//   (2) Every part that determines the codes is checked. An invalid part is an error. For a missing
//       parameter, the format's default applies; the key and the counter have no default. Other
//       parameters are kept unchanged.
//   (3) No error contains any part of the URI, except names of parameters.

import KeychainCore
import KeychainCrypto

struct OneTimeSecret {
    enum Kind: Equatable {
        /// TOTP, RFC 6238. The period is in seconds.
        case time(period: UInt64)
        /// HOTP, RFC 4226.
        case counter(UInt64)
    }

    let key: [UInt8]
    let kind: Kind
    let algorithm: OneTimeCode.Algorithm
    let digits: Int
    /// The URI, with its parameters in their original order.
    let uri: String

    struct Problem: Error, Equatable {
        let text: String

        init(_ text: String) { self.text = text }
    }

    /// Parses a URI.
    init(_ uri: String) throws(Problem) {
        let prefix = "otpauth://"
        guard uri.lowercased().hasPrefix(prefix) else {
            throw Problem("This is not an otpauth: URI.")
        }
        // A URI with characters that should have been encoded would be ambiguous.
        guard uri.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !uri.contains("#") else {
            throw Problem(
                "A URI can't contain spaces, “#” or non-ASCII characters: encode them as %20 and "
                    + "so on.")
        }
        let parts = uri.dropFirst(prefix.count)
            .split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard place.count == 2, !place[1].isEmpty, Self.decoded(place[1]) != nil else {
            throw Problem(
                "The label after the type is missing or invalid: write otpauth://totp/LABEL?….")
        }
        let given = try Self.parameters(parts.count == 2 ? parts[1] : "")
        guard let key = given["secret"].flatMap(Base32.decode) else {
            throw Problem("The parameter secret is missing or not valid Base32.")
        }
        self.key = key
        guard
            let algorithm = OneTimeCode.Algorithm(
                rawValue: (given["algorithm"] ?? "SHA1").uppercased())
        else { throw Problem("The parameter algorithm must be SHA1, SHA256 or SHA512.") }
        self.algorithm = algorithm
        guard let digits = Self.number(given["digits"] ?? "6"), (6...8).contains(digits) else {
            throw Problem("The parameter digits must be 6, 7 or 8.")
        }
        self.digits = Int(digits)
        switch place[0].lowercased() {
        case "totp":
            guard let period = Self.number(given["period"] ?? "30"), (1...86_400).contains(period)
            else {
                throw Problem(
                    "The parameter period must be a number of seconds from 1 to 86400.")
            }
            kind = .time(period: period)
        case "hotp":
            guard let counter = given["counter"].flatMap(Self.number), counter < UInt64.max else {
                throw Problem("The parameter counter is missing or not a valid number.")
            }
            kind = .counter(counter)
        default:
            throw Problem("The type must be totp or hotp.")
        }
        self.uri = uri
    }

    /// Creates the URI for a key in Base32, as web sites show it, possibly in groups of characters.
    ///
    /// - Parameters:
    ///   - text: The key.
    ///   - label: The label of the URI, for display.
    ///   - parameters: The other parameters, in order, whose values aren't percent-encoded yet.
    /// - Throws: ``Problem`` if the key or a parameter is invalid, or the label is empty.
    init(
        base32 text: String, label: String, parameters: [(name: String, value: String)]
    ) throws(Problem) {
        let plain = text.filter { !" -\t".contains($0) }
        guard let key = Base32.decode(plain) else {
            throw Problem("This is neither an otpauth: URI nor a key in Base32.")
        }
        let isCounted = parameters.contains { $0.name == "counter" }
        let all = [("secret", Base32.encode(key))] + parameters.map { ($0.name, $0.value) }
        try self.init(
            "otpauth://\(isCounted ? "hotp" : "totp")/\(Self.encoded(label))?"
                + all.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&"))
    }

    // MARK: Codes

    /// The code for a time, in seconds since 1970, or for the counter.
    func code(at seconds: UInt64) -> String {
        let counter =
            switch kind {
            case .time(let period): seconds / period
            case .counter(let counter): counter
            }
        return OneTimeCode.code(of: key, counter: counter, digits: digits, by: algorithm)
    }

    /// The same secret with the counter incremented, or `nil` if it has no counter or the counter
    /// can't be incremented.
    var advanced: OneTimeSecret? {
        guard case .counter(let counter) = kind, let query = uri.firstIndex(of: "?") else {
            return nil
        }
        let parameters = uri[uri.index(after: query)...].split(
            separator: "&", omittingEmptySubsequences: false
        ).map { $0.hasPrefix("counter=") ? "counter=\(counter + 1)" : String($0) }
        return try? OneTimeSecret(uri[...query] + parameters.joined(separator: "&"))
    }

    // MARK: Parts of a URI

    private static func parameters(_ query: Substring) throws(Problem) -> [String: String] {
        var result: [String: String] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = decoded(pair[1]) else {
                throw Problem(
                    "A parameter doesn't have the form NAME=VALUE, or its value contains an "
                        + "invalid %XX.")
            }
            guard result.updateValue(value, forKey: String(pair[0])) == nil else {
                throw Problem("A parameter occurs twice.")
            }
        }
        return result
    }

    /// Decodes percent-encoding. Returns `nil` if a percent sign isn't followed by two hexadecimal
    /// digits, or the result isn't UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 2 else { return nil }
            bytes.append(UInt8(digits[0] << 4 | digits[1]))
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E, 0x40:
                String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    /// The number that a text represents, or `nil` if the text is empty, contains anything but
    /// digits, or exceeds 64 bits.
    private static func number(_ text: String) -> UInt64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(text) : nil
    }
}
