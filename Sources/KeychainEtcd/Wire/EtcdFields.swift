// EtcdFields: the encoding of bytes and numbers in etcd's JSON gateway.
//   (1) Bytes are in base64; 64-bit numbers are strings of decimal digits; fields with their
//       default value are omitted.
//   (2) A field in any other form is an error, except that `null` counts as omitted. Unknown fields
//       are ignored.

#if Synchronization

import FoundationEssentials

/// Bytes in base64.
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

/// A 64-bit number. In all fields used here, etcd sends numbers of 0 or more.
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

    func list<Element: Decodable>(_ key: Key) throws -> [Element] {
        try decodeIfPresent([Element].self, forKey: key) ?? []
    }
}

#endif
