// Bech32 (BIP 173): the text form of age's keys, without BIP 173's limit of 90 characters.
//   (1) A text is either all uppercase or all lowercase. The checksum is over the lowercase form.
//   (2) Padding bits are zero, and fewer than five, so that each value has exactly one encoding.

enum Bech32 {
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let separator = UInt8(ascii: "1")
    private static let checksumLength = 6

    /// Returns the text in lowercase.
    static func encode(_ bytes: [UInt8], prefix: String) -> String {
        let values = regrouped(bytes, from: 8, to: 5, padding: true) ?? []
        let head = Array(prefix.utf8)
        let remainder =
            checksum(of: expanded(head) + values + [UInt8](repeating: 0, count: checksumLength)) ^ 1
        let sum = (0..<checksumLength).map { UInt8(remainder >> (5 * (5 - UInt32($0))) & 31) }
        return String(
            decoding: head + [separator] + (values + sum).map { alphabet[Int($0)] }, as: UTF8.self)
    }

    /// Decodes the bytes of a text with this prefix. `prefix` is in lowercase, even for a text in
    /// uppercase. Returns `nil` if the text is invalid or has another prefix.
    static func decode(_ text: [UInt8], prefix: String) -> [UInt8]? {
        let isUpper = text.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        let isLower = text.contains { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        guard !(isUpper && isLower) else { return nil }
        var lower = text.map { isUpper && $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }
        defer { lower.erase() }
        let head = Array(prefix.utf8)
        guard lower.count >= head.count + 1 + checksumLength, lower.starts(with: head),
            lower.lastIndex(of: separator) == head.count
        else { return nil }
        var values: [UInt8] = []
        defer { values.erase() }
        for character in lower[(head.count + 1)...] {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            values.append(UInt8(value))
        }
        guard checksum(of: expanded(head) + values) == 1 else { return nil }
        return regrouped(values.dropLast(checksumLength), from: 5, to: 8, padding: false)
    }

    private static func expanded(_ prefix: [UInt8]) -> [UInt8] {
        prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 31 }
    }

    private static func checksum(of values: [UInt8]) -> UInt32 {
        let generator: [UInt32] = [
            0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3,
        ]
        var sum: UInt32 = 1
        for value in values {
            let top = sum >> 25
            sum = (sum & 0x1FF_FFFF) << 5 ^ UInt32(value)
            for bit in 0..<5 where top >> UInt32(bit) & 1 == 1 { sum ^= generator[bit] }
        }
        return sum
    }

    /// Returns `nil` if the remaining bits are not valid padding.
    private static func regrouped(
        _ values: some Sequence<UInt8>, from: UInt32, to: UInt32, padding: Bool
    ) -> [UInt8]? {
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for value in values {
            bits = (bits << from | UInt32(value)) & 0xFFFF
            count += from
            while count >= to {
                count -= to
                result.append(UInt8(truncatingIfNeeded: bits >> count & (1 << to - 1)))
            }
        }
        let rest = bits & (1 << count - 1)
        if padding {
            if count > 0 { result.append(UInt8(truncatingIfNeeded: rest << (to - count))) }
        } else if count >= from || rest != 0 {
            return nil
        }
        return result
    }
}

extension [UInt8] {
    /// Overwrites the bytes in place, provided that no other array shares the storage.
    package mutating func erase() {
        for index in indices { self[index] = 0 }
    }
}
