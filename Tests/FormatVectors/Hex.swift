// Hex: bytes as lower-case hexadecimal digits, as they stand in a vector file.

/// Bytes that are a string of hexadecimal digits in JSON.
package struct Hex: Hashable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// - Returns: nil unless the text is pairs of lower-case digits and nothing else.
    package init?(digits: String) {
        let digits = Array(digits.utf8)
        guard digits.count % 2 == 0 else { return nil }
        bytes = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
    }

    package var digits: String {
        let characters = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [characters[Int($0 >> 4)], characters[Int($0 & 15)]] },
            as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Hex: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let hex = Hex(digits: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not lower-case hexadecimal")
        }
        self = hex
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(digits)
    }
}
