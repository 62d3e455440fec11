// AgeHeader: the text at the start of an age file: who can open it, and a code over all of it.
// age-encryption.org/v1, published as c2sp.org/age.
//   (1) Reading accepts exactly what the document's grammar describes: one form for each header.
//   (2) The code is over the bytes as they were read, not over an encoding of what was understood.
//   (3) A stanza for a passphrase is the only one.

import Crypto
import FoundationEssentials
import KeychainCore

/// Why an age file was not opened.
package enum AgeFailure: Error, Hashable, Sendable {
    /// The header isn't one.
    case header
    /// No identity opens the file.
    case noMatch
    /// The header was changed.
    case code
    /// The content was changed or cut off.
    case payload
    /// Reading failed; `errno` says why.
    case read
    /// The derivation of a key failed.
    case derivation
}

/// The file key, wrapped for one recipient.
struct AgeStanza: Hashable {
    var arguments: [String]
    var body: [UInt8]

    var isOfPassphrase: Bool { arguments.first == "scrypt" }

    var text: String {
        let encoded = Array(AgeBase64.encode(body).utf8)
        var text = "-> " + arguments.joined(separator: " ") + "\n"
        var position = 0
        // The last line is shorter than the others, and empty where it has to be.
        repeat {
            let end = min(position + AgeHeader.lineLength, encoded.count)
            text += String(decoding: encoded[position..<end], as: UTF8.self) + "\n"
            position += AgeHeader.lineLength
        } while position <= encoded.count
        return text
    }
}

struct AgeHeader {
    static let versionLine = "age-encryption.org/v1"
    static let lineLength = 64
    /// Beyond it no header is read.
    private static let sizeLimit = 1 << 20
    private static let codeMark = "---"

    let stanzas: [AgeStanza]
    /// All up to and with the mark before the code.
    private let authenticated: [UInt8]
    private let code: [UInt8]

    /// A header for new stanzas.
    init(_ stanzas: [AgeStanza], fileKey: SecretBytes) {
        self.stanzas = stanzas
        let text = Self.versionLine + "\n" + stanzas.map(\.text).joined() + Self.codeMark
        authenticated = Array(text.utf8)
        code = Self.code(of: authenticated, fileKey)
    }

    var bytes: [UInt8] {
        authenticated + Array(" \(AgeBase64.encode(code))\n".utf8)
    }

    /// Reads a header, and leaves the input behind it.
    init(_ input: inout AgeInput) throws(AgeFailure) {
        var bytes: [UInt8] = []
        func line() throws(AgeFailure) -> String {
            let line = try input.line(atMost: Self.sizeLimit - bytes.count)
            bytes += line + [UInt8(ascii: "\n")]
            // Printable ASCII alone: a carriage return, for one, is part of no line.
            guard line.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .header }
            return String(decoding: line, as: UTF8.self)
        }
        guard try line() == Self.versionLine else { throw .header }
        var stanzas: [AgeStanza] = []
        while true {
            let start = try line()
            if start.hasPrefix(Self.codeMark) {
                guard start.hasPrefix(Self.codeMark + " "), !stanzas.isEmpty,
                    let code = AgeBase64.decode(String(start.dropFirst(4))), code.count == 32
                else { throw .header }
                self.code = code
                authenticated =
                    Array(bytes.dropLast(start.utf8.count + 1))
                    + Array(Self.codeMark.utf8)
                break
            }
            guard start.hasPrefix("-> ") else { throw .header }
            let arguments = start.dropFirst(3).split(
                separator: " ", omittingEmptySubsequences: false
            ).map(String.init)
            guard arguments.allSatisfy({ !$0.isEmpty }) else { throw .header }
            var body: [UInt8] = []
            var isLast = false
            while !isLast {
                let text = try line()
                guard text.utf8.count <= Self.lineLength, let part = AgeBase64.decode(text) else {
                    throw .header
                }
                body += part
                isLast = text.utf8.count < Self.lineLength
            }
            stanzas.append(AgeStanza(arguments: arguments, body: body))
        }
        guard stanzas.count == 1 || !stanzas.contains(where: \.isOfPassphrase) else {
            throw .header
        }
        self.stanzas = stanzas
    }

    func isAuthentic(under fileKey: SecretBytes) -> Bool {
        SecretBytes(copying: Self.code(of: authenticated, fileKey)).isEqual(
            to: SecretBytes(copying: code))
    }

    private static func code(of bytes: [UInt8], _ fileKey: SecretBytes) -> [UInt8] {
        let key = AgeKeys.derive(from: fileKey, salt: [], info: "header")
        return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
    }
}

enum AgeKeys {
    /// HKDF-SHA-256, 32 bytes.
    static func derive(from key: SecretBytes, salt: [UInt8], info: String) -> SymmetricKey {
        key.withSymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: $0, salt: salt, info: Array(info.utf8), outputByteCount: 32)
        }
    }
}

/// Base64 without padding, of which each value has one text.
enum AgeBase64 {
    static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().filter { $0 != "=" }
    }

    static func decode(_ text: String) -> [UInt8]? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text + padding) else { return nil }
        let bytes = Array(data)
        return encode(bytes) == text ? bytes : nil
    }
}

/// What is left to read of a descriptor.
struct AgeInput {
    let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// - Returns: False at the end.
    private mutating func fill() throws(AgeFailure) -> Bool {
        guard position == buffer.count else { return true }
        guard let part = try? [UInt8](readingFrom: descriptor, atMost: 1 << 16) else {
            throw .read
        }
        buffer = part
        position = 0
        return !part.isEmpty
    }

    /// A line without its end. One that is longer, or has no end, is none of a header.
    mutating func line(atMost limit: Int) throws(AgeFailure) -> [UInt8] {
        var line: [UInt8] = []
        while line.count < limit, try fill() {
            let byte = buffer[position]
            position += 1
            if byte == UInt8(ascii: "\n") { return line }
            line.append(byte)
        }
        throw .header
    }

    /// As many bytes as are asked for, or all that are left.
    mutating func bytes(_ count: Int) throws(AgeFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count, try fill() {
            let end = min(buffer.count, position + count - bytes.count)
            bytes += buffer[position..<end]
            position = end
        }
        return bytes
    }

    /// Whether nothing is left.
    mutating func isAtEnd() throws(AgeFailure) -> Bool { try !fill() }
}
