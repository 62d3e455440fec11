// Messages: the messages of etcd's protocol that the comparison uses, encoded and decoded by hand.
// The figures thus contain as little decoding as possible, which favors gRPC.

import GRPCCore

/// Appends fields of a protobuf message.
struct Message {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ number: Int, bytes value: [UInt8]) {
        appendVariable(UInt64(number << 3 | 2))
        appendVariable(UInt64(value.count))
        bytes += value
    }

    mutating func append(_ number: Int, _ value: Int) {
        appendVariable(UInt64(number << 3))
        appendVariable(UInt64(value))
    }

    private mutating func appendVariable(_ value: UInt64) {
        var rest = value
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Calls `bytes` with each field of type 2 (a sequence of bytes) in a message, and `number` with
/// each field of type 0 (a number).
func forEachField(
    in message: ArraySlice<UInt8>, bytes: (Int, ArraySlice<UInt8>) -> Void,
    number: (Int, UInt64) -> Void = { _, _ in }
) {
    var rest = message
    func variable() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = rest.popFirst() {
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { break }
            shift += 7
        }
        return value
    }
    while !rest.isEmpty {
        let tag = variable()
        switch tag & 7 {
        case 0: number(Int(tag >> 3), variable())
        case 2:
            let length = Int(variable())
            bytes(Int(tag >> 3), rest.prefix(length))
            rest = rest.dropFirst(length)
        default: preconditionFailure("a field of another type")
        }
    }
}

/// Passes messages on as bytes.
struct Verbatim: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) -> Bytes { Bytes(message) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> [UInt8] {
        bytes.withUnsafeBytes { Array($0) }
    }
}
