// MessageCodable: conversion of values to the bytes of a message and back.
// Documentation/Formats/service-protocol-v2.md describes every field.
//   (1) Numbers have a fixed size and are big-endian. Text and data are preceded by their size, a
//       list by its count, and an optional value by a byte that says whether it is present.
//   (2) Input may come from an attacker. Every read is checked against the end of the bytes, and
//       every value against the range of its type. If a check fails, the error is `param`. The code
//       that handles a request checks the limits of the request's values.
//   (3) Output is written to memory that is erased before it is freed. Only `messageBytes` copies
//       the output to ordinary memory.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

package protocol MessageCodable {
    func encode(to writer: inout MessageWriter)
    /// - Throws: `param` if the bytes don't encode a value of this type.
    init(from reader: inout MessageReader) throws(KeychainFailure)
}

extension MessageWriter {
    /// Appends several values in order.
    mutating func encode<each Value: MessageCodable>(_ value: repeat each Value) {
        repeat (each value).encode(to: &self)
    }
}

/// An enumeration that is encoded as the position of the value among all cases. New cases must be
/// added at the end.
package protocol CodedByPosition: MessageCodable, CaseIterable, Equatable {}

extension CodedByPosition {
    package func encode(to writer: inout MessageWriter) {
        var position: UInt8 = 0
        for value in Self.allCases {
            if value == self { break }
            position += 1
        }
        writer.number(position)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let position = Int(try reader.number() as UInt8)
        guard let value = Self.allCases.dropFirst(position).first else {
            throw .unreadable("an unknown \(Self.self)")
        }
        self = value
    }
}

extension KeychainFailure {
    /// The error for a part of a message that can't be decoded.
    package static func unreadable(_ what: String) -> KeychainFailure {
        .param("A message of the keychain service can't be read: \(what).")
    }
}

// MARK: Numbers, texts, data

extension Bool: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(self ? 1 as UInt8 : 0) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        switch try reader.number() as UInt8 {
        case 0: self = false
        case 1: self = true
        default: throw .unreadable("a flag that is neither 0 nor 1")
        }
    }
}

/// The number must not be negative; a negative one is encoded as 0.
extension Int: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(UInt64(clamping: self)) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        guard let number = Int(exactly: try reader.number() as UInt64) else {
            throw .unreadable("a number that is too large")
        }
        self = number
    }
}

extension UInt64: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(self) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self = try reader.number()
    }
}

extension UInt32: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(self) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self = try reader.number()
    }
}

extension Double: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(bitPattern) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(bitPattern: try reader.number())
    }
}

extension String: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        var text = self
        // SAFETY: the bytes are used only during the call.
        text.withUTF8 { unsafe writer.sized(UnsafeRawBufferPointer($0)) }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        // SAFETY: the bytes are used only during the call.
        let text = unsafe try reader.sized { bytes in
            unsafe String(validating: bytes, as: UTF8.self)
        }
        guard let text else { throw .unreadable("a text that isn't UTF-8") }
        self = text
    }
}

extension Data: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        // SAFETY: the bytes are used only during the call.
        unsafe withUnsafeBytes { unsafe writer.sized($0) }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        // SAFETY: the bytes are copied within the call.
        self = unsafe try reader.sized { unsafe Data($0) }
    }
}

extension SecretBytes: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        // SAFETY: the bytes are used only during the call.
        unsafe withUnsafeBytes { unsafe writer.sized($0) }
    }

    package convenience init(from reader: inout MessageReader) throws(KeychainFailure) {
        let count = try reader.sizedCount()
        // SAFETY: both ranges have the same size.
        unsafe self.init(byteCount: count) { target in
            unsafe reader.take(count) { unsafe target.copyMemory(from: $0) }
        }
    }
}

extension Bytes16: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(high)
        writer.number(low)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(high: try reader.number(), low: try reader.number())
    }
}

extension Done: MessageCodable {
    package func encode(to writer: inout MessageWriter) {}
    package init(from reader: inout MessageReader) throws(KeychainFailure) {}
}

// MARK: Lists and optional values

extension Array: MessageCodable where Element: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(UInt32(clamping: count))
        for element in self { element.encode(to: &writer) }
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self = []
        for _ in 0..<(try reader.number() as UInt32) {
            try reader.countElement()
            append(try Element(from: &reader))
        }
    }
}

extension Optional: MessageCodable where Wrapped: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        (self != nil).encode(to: &writer)
        self?.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self = try Bool(from: &reader) ? try Wrapped(from: &reader) : nil
    }
}
