// AgeHeader: the text at the start of an age file. It contains the file key, wrapped for each
// recipient, and a MAC over the rest of the header. The format is age-encryption.org/v1, published
// as c2sp.org/age.
//   (1) A reader accepts exactly the grammar of the specification, which gives each header one
//       encoding. It rejects headers of more than 1 MiB.
//   (2) The MAC is computed over the bytes that were read, not over a new encoding of the parsed
//       header.
//   (3) A passphrase stanza must be the only stanza.

import Crypto
import FoundationEssentials
import KeychainCore

/// The reason why an age file was not opened or written.
package enum AgeFailure: Error, Hashable, Sendable {
    /// The header is invalid, or none can be created for the recipients.
    case header
    /// None of the identities opens the file.
    case noMatch
    /// The header was modified.
    case code
    /// The content was modified or truncated.
    case payload
    /// Reading or writing failed; `errno` contains the reason.
    case read
    /// Deriving a key failed.
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
        // The last line is always shorter than `lineLength`; it is empty if the body fills whole
        // lines.
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
    /// The maximum size of a header that is read, in bytes.
    private static let sizeLimit = 1 << 20
    private static let codeMark = "---"

    let stanzas: [AgeStanza]
    /// The bytes up to and including the mark before the MAC.
    private let authenticated: [UInt8]
    private let code: [UInt8]

    /// Creates a header for new stanzas.
    init(_ stanzas: [AgeStanza], fileKey: SecretBytes) {
        self.stanzas = stanzas
        let text = Self.versionLine + "\n" + stanzas.map(\.text).joined() + Self.codeMark
        authenticated = Array(text.utf8)
        code = Self.code(of: authenticated, fileKey)
    }

    var bytes: [UInt8] {
        authenticated + Array(" \(AgeBase64.encode(code))\n".utf8)
    }

    /// Reads a header. The input is then positioned after it.
    init(_ input: inout AgeInput) throws(AgeFailure) {
        var bytes: [UInt8] = []
        func line() throws(AgeFailure) -> String {
            let line = try input.line(atMost: Self.sizeLimit - bytes.count)
            bytes += line + [UInt8(ascii: "\n")]
            // Only printable ASCII is permitted, so a carriage return, for example, is rejected.
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
    /// Derives 32 bytes with HKDF-SHA-256.
    static func derive(from key: SecretBytes, salt: [UInt8], info: String) -> SymmetricKey {
        key.withSymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: $0, salt: salt, info: Array(info.utf8), outputByteCount: 32)
        }
    }
}

/// Base64 without padding. Each value has exactly one valid encoding.
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

/// The unread part of a descriptor.
struct AgeInput {
    let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// - Returns: `false` at the end.
    private mutating func fill() throws(AgeFailure) -> Bool {
        guard position == buffer.count else { return true }
        guard let part = try? [UInt8](readingFrom: descriptor, atMost: 1 << 16) else {
            throw .read
        }
        buffer = part
        position = 0
        return !part.isEmpty
    }

    /// Reads a line and returns it without its line feed. Throws ``AgeFailure/header`` if none of
    /// the next `limit` bytes is a line feed.
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

    /// Reads `count` bytes, or all remaining bytes if there are fewer.
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

    /// Whether all bytes have been read.
    mutating func isAtEnd() throws(AgeFailure) -> Bool { try !fill() }
}
