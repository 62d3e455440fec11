// KeyNames: readable names for the numbers and DER values in items for keys and certificates, and
// for access constraints.
//   (1) The names are for display and JSON: no decision about access depends on them. Bytes of an
//       unknown form have no name.

import FoundationEssentials
package import KeychainCore

package enum KeyNames {
    private static let keyTypes: [Int64: String] = [
        42: "RSA", 43: "DSA", 73: "EC", 105: "Ed25519", 106: "X25519", 2_147_483_649: "AES",
    ]
    private static let keyClasses: [Int64: String] = [0: "public", 1: "private", 2: "symmetric"]

    /// The name for a value, or `nil` if it has none.
    package static func name(
        of value: AttributeValue, for attribute: Attribute, in itemClass: ItemClass
    ) -> String? {
        switch (itemClass, attribute, value) {
        case (.key, .type, .number(let number)): keyTypes[number]
        case (.key, .keyClass, .number(let number)): keyClasses[number]
        case (.certificate, .issuer, .data(let name)), (.certificate, .subject, .data(let name)):
            distinguishedName(Array(name))
        default: nil
        }
    }

    // MARK: Distinguished names

    private enum Tag {
        static let objectIdentifier: UInt8 = 0x06
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        /// The text types UTF8String, PrintableString, T61String and IA5String.
        static let texts: [UInt8] = [0x0C, 0x13, 0x14, 0x16]
    }

    /// The short names of RFC 4514, by the number n of the object identifier 2.5.4.n.
    private static let attributeNames: [UInt8: String] = [
        3: "CN", 6: "C", 7: "L", 8: "ST", 10: "O", 11: "OU",
    ]

    /// The text of a distinguished name in DER (RFC 5280), such as "CN=mail.example, O=Example".
    /// The outer SEQUENCE may be missing. Returns `nil` if the bytes don't have this form, or
    /// contain text that isn't UTF-8.
    static func distinguishedName(_ bytes: [UInt8]) -> String? {
        guard let outer = elements(bytes[...]) else { return nil }
        let sets =
            outer.count == 1 && outer[0].tag == Tag.sequence
            ? elements(outer[0].content) : outer
        guard let sets, !sets.isEmpty else { return nil }
        var parts: [String] = []
        for set in sets {
            guard set.tag == Tag.set, let attributes = elements(set.content) else { return nil }
            for attribute in attributes {
                guard let part = part(attribute) else { return nil }
                parts.append(part)
            }
        }
        return parts.joined(separator: ", ")
    }

    private static func part(_ attribute: Element) -> String? {
        guard attribute.tag == Tag.sequence, let pair = elements(attribute.content),
            pair.count == 2, pair[0].tag == Tag.objectIdentifier, Tag.texts.contains(pair[1].tag),
            let text = String(validating: pair[1].content, as: UTF8.self)
        else { return nil }
        let identifier = Array(pair[0].content)
        guard identifier.starts(with: [0x55, 0x04]), identifier.count == 3,
            let name = attributeNames[identifier[2]]
        else { return text }
        return "\(name)=\(text)"
    }

    private struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    /// Splits DER into its elements. Returns `nil` if the bytes are invalid, or if an element has a
    /// length of 64 KiB or more.
    private static func elements(_ bytes: ArraySlice<UInt8>) -> [Element]? {
        var rest = bytes
        var elements: [Element] = []
        while let tag = rest.popFirst() {
            guard var length = rest.popFirst().map(Int.init) else { return nil }
            if length >= 0x80 {
                // Lengths below 64 KiB. Names in certificates are far shorter.
                guard (0x81...0x82).contains(length), rest.count >= length - 0x80 else {
                    return nil
                }
                let digits = rest.prefix(length - 0x80)
                rest = rest.dropFirst(digits.count)
                length = digits.reduce(0) { $0 << 8 | Int($1) }
            }
            guard length <= rest.count else { return nil }
            elements.append(Element(tag: tag, content: rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return elements
    }
}

extension AccessConstraints {
    private static let named: [(AccessConstraints, String)] = [
        (.userPresence, "user-presence"), (.devicePasscode, "device-passcode"),
        (.biometryAny, "biometry-any"), (.biometryCurrentSet, "biometry-current-set"),
        (.companion, "companion"), (.applicationPassword, "application-password"),
        (.privateKeyUsage, "private-key-usage"), (.or, "or"), (.and, "and"),
    ]

    /// The names of the flags that are set, such as `user-presence`.
    package var names: [String] {
        Self.named.compactMap { contains($0.0) ? $0.1 : nil }
    }
}
