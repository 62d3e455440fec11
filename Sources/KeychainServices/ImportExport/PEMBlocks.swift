// PEMBlocks: texts with keys and certificates between BEGIN and END lines (RFC 7468).
//   (1) What stands around the blocks is passed over, as RFC 7468 asks for.
//   (2) A block that is not whole makes the text damaged: no key or certificate of a longer list
//       disappears unnoticed.
//
// SwiftASN1's reader takes lines of 64 characters only and no header lines; OpenSSL writes such
// headers, and Java and others write longer lines.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCore
internal import SwiftASN1

/// One block of a text.
struct PEMBlock: Hashable {
    /// What stands after BEGIN.
    var label: String
    var bytes: [UInt8]
    /// Whether header lines say that OpenSSL's older encryption is on the bytes.
    var isEncrypted = false

    private static let begin = "-----BEGIN "
    private static let end = "-----END "
    private static let dashes = "-----"

    /// Whether there is a block in the bytes, perhaps a damaged one.
    static func isIn(_ bytes: [UInt8]) -> Bool {
        Data(bytes).range(of: Data(begin.utf8)) != nil
    }

    /// The blocks of a text, from first to last.
    ///
    /// - Throws: `decode` if a block has no end, another end, or other than base64 within.
    static func blocks(in bytes: [UInt8]) throws(KeychainFailure) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var label: String?
        var lines: [String] = []
        let text = String(decoding: bytes, as: UTF8.self)
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let current = label {
                if line.hasPrefix(begin) { throw damage }
                guard line.hasPrefix(end) else {
                    lines.append(line)
                    continue
                }
                guard line == end + current + dashes else { throw damage }
                blocks.append(try PEMBlock(label: current, lines: lines))
                label = nil
                lines = []
            } else if line.hasPrefix(begin), line.hasSuffix(dashes) {
                label = String(line.dropFirst(begin.count).dropLast(dashes.count))
            }
        }
        guard label == nil, !blocks.isEmpty else { throw damage }
        return blocks
    }

    init(label: String, bytes: [UInt8]) {
        self.label = label
        self.bytes = bytes
    }

    private init(label: String, lines: [String]) throws(KeychainFailure) {
        let headers = lines.prefix { $0.contains(":") }
        guard let data = Data(base64Encoded: lines.dropFirst(headers.count).joined()),
            !data.isEmpty
        else { throw Self.damage }
        self.label = label
        bytes = Array(data)
        isEncrypted = headers.contains { $0.hasPrefix("Proc-Type:") && $0.contains("ENCRYPTED") }
    }

    /// The text of the block, with a line end.
    var text: String {
        PEMDocument(type: label, derBytes: bytes).pemString + "\n"
    }

    private static let damage = KeychainFailure(.decode, "The text in PEM is damaged.")
}

#endif
