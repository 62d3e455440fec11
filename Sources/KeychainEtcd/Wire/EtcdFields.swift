// EtcdFields: how etcd's JSON gateway writes bytes and numbers.
//   (1) Bytes are base 64; 64-bit numbers are strings of decimal digits; what has its default value
//       is left out.
//   (2) A field that is there and isn't so is an error. Fields that aren't known are passed over.

#if Synchronization

import FoundationEssentials

/// Bytes in base 64.
struct Base64Bytes: Codable {
    var bytes: [UInt8]

    init(_ key: EtcdKey) { bytes = key.bytes }
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let data = Data(base64Encoded: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "base 64")
        }
        bytes = Array(data)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(bytes).base64EncodedString())
    }
}

/// A number of 64 bits, which is 0 or more in all that etcd sends here.
struct DecimalNumber: Codable {
    var number: Int64

    init(_ number: Int64) { self.number = number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int64(text)
        else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "number") }
        self.number = number
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(number))
    }
}

extension KeyedDecodingContainer {
    func number(_ key: Key) throws -> Int64 {
        try decodeIfPresent(DecimalNumber.self, forKey: key)?.number ?? 0
    }

    func bytes(_ key: Key) throws -> [UInt8] {
        try decodeIfPresent(Base64Bytes.self, forKey: key)?.bytes ?? []
    }

    func flag(_ key: Key) throws -> Bool { try decodeIfPresent(Bool.self, forKey: key) ?? false }

    func text(_ key: Key) throws -> String { try decodeIfPresent(String.self, forKey: key) ?? "" }

    func list<Element: Decodable>(_ key: Key) throws -> [Element] {
        try decodeIfPresent([Element].self, forKey: key) ?? []
    }
}

#endif
