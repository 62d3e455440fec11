// PastedCode: 130 bits that identify a machine's keys, or a circle and the head of its membership
// log. Users exchange such codes when a machine joins without the six digits, which they would have
// to compare while both machines show them. Documentation/Synchronization.md, "Joining".
//   (1) A code isn't secret, but the user must copy it from the right machine.

import KeychainCore
import KeychainCrypto

package struct PastedCode: Hashable, Sendable, CustomStringConvertible {
    /// 26 characters of five bits each.
    private static let characterCount = 26
    /// Base 32 without the letters I, L, O and U, which can be mistaken for 1, 0 and V.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    private let characters: [UInt8]

    /// The code that a joining machine shows. It is pasted on a member.
    package init(joiner machine: MachineDescription) {
        self.init("swift-keychain sync 1 joiner", machine.bytes)
    }

    /// The code that a member shows. It is pasted on a joining machine, and identifies the circle
    /// and the head of its membership log.
    package init(circle: CircleID, head: LogHead) {
        var writer = ByteWriter(capacity: 80)
        circle.digest.write(to: &writer)
        head.write(to: &writer)
        self.init("swift-keychain sync 1 circle", writer.result)
    }

    private init(_ purpose: String, _ bytes: [UInt8]) {
        let digest = Fingerprint.sha256(of: Array(purpose.utf8) + bytes)
        characters = (0..<Self.characterCount).map { position in
            var number = 0
            for bit in position * 5..<(position + 1) * 5 {
                number = number << 1 | Int(digest[bit / 8] >> (7 - bit % 8) & 1)
            }
            return Self.alphabet[number]
        }
    }

    /// Parses pasted text. Case, hyphens, spaces and line feeds don't matter.
    ///
    /// - Returns: `nil` if the text isn't a code.
    package init?(_ text: String) {
        var characters: [UInt8] = []
        for byte in text.uppercased().utf8 where byte != 0x2D && byte != 0x20 && byte != 0x0A {
            guard Self.alphabet.contains(byte) else { return nil }
            characters.append(byte)
        }
        guard characters.count == Self.characterCount else { return nil }
        self.characters = characters
    }

    /// In groups: `XXXXX-XXXXX-XXXXX-XXXXX-XXXXXX`.
    package var description: String {
        var parts: [String] = []
        for index in 0..<5 {
            let end = index == 4 ? Self.characterCount : (index + 1) * 5
            parts.append(String(decoding: characters[index * 5..<end], as: UTF8.self))
        }
        return parts.joined(separator: "-")
    }
}
