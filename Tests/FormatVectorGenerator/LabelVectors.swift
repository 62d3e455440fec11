// LabelVectors: Documentation/Formats/row-v1.md, "Labels".

import FormatVectors
import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite

enum LabelVectors {
    private static let key = Example.counting(from: 0x40)
    private static let index = BlindIndex(key: SecretBytes(copying: key))

    static var file: VectorFile<LabelVector> {
        VectorFile(
            algorithm: "swift-keychain blind index",
            notes: [
                "AccessGroup": "The label of an access group.",
                "Attribute": "The label of one attribute's value.",
                "RemainingKey": "The label of the rest of the primary key. Attributes that are not "
                    + "among `fields` are absent.",
                "Separation": "A label of something that is easily mistaken for the input.",
            ],
            tests: attributes + remainingKeys + accessGroups + separation)
    }

    private static func space(
        _ itemClass: ItemClass, _ isSynchronizable: Bool, _ isTombstone: Bool
    ) -> BlindIndex.Space {
        BlindIndex.Space(
            itemClass: itemClass, isSynchronizable: isSynchronizable, isTombstone: isTombstone)
    }

    private static func attribute(
        _ comment: String, _ attribute: Attribute, _ value: AttributeValue,
        of itemClass: ItemClass = .genericPassword, isSynchronizable: Bool = false,
        isTombstone: Bool = false
    ) -> LabelVector {
        let space = space(itemClass, isSynchronizable, isTombstone)
        return LabelVector(
            comment, ["Attribute"], indexKey: Hex(key), itemClass: itemClass.name,
            isSynchronizable: isSynchronizable, isTombstone: isTombstone, domain: .attribute,
            fields: [FieldVector(attribute, value)],
            label: Hex(index.label(of: attribute, value, in: space)))
    }

    private static var attributes: [LabelVector] {
        [
            attribute("text", .account, .string("alice")),
            attribute(
                "data of the same bytes: the same label", .account, .data(Data("alice".utf8))),
            attribute("another case: another label", .account, .string("Alice")),
            attribute("a synchronizable item", .account, .string("alice"), isSynchronizable: true),
            attribute("a tombstone", .account, .string("alice"), isTombstone: true),
            attribute(
                "a synchronizable tombstone", .account, .string("alice"), isSynchronizable: true,
                isTombstone: true),
            attribute("another class", .account, .string("alice"), of: .internetPassword),
            attribute("another attribute", .service, .string("alice")),
            attribute("empty text, which an absent key attribute has too", .account, .string("")),
            attribute("text beyond ASCII, composed", .account, .string("\u{E9}")),
            attribute("the same text, decomposed: another label", .account, .string("e\u{301}")),
            attribute("text with a zero byte", .service, .string("a\0b")),
            attribute("data that is no text", .generic, .data(Data([0xFF, 0x00, 0xFE]))),
            attribute(
                "an issuer", .issuer, .data(Data([0x30, 0x00])), of: .certificate),
            attribute(
                "an application label", .applicationLabel,
                .data(Data(Example.counting(from: 0x50, count: 20))), of: .key),
            attribute("an application tag", .applicationTag, .string("tag"), of: .key),
            attribute(
                "an application tag of the same bytes", .applicationTag, .data(Data("tag".utf8)),
                of: .key),
            attribute("a date", .startDate, .date(800_000_000.5), of: .key),
            attribute("a number", .port, .number(443), of: .internetPassword),
            attribute("a negative number", .port, .number(-1), of: .internetPassword),
            attribute("the least number", .port, .number(.min), of: .internetPassword),
            attribute("a number in an attribute of text", .account, .number(443)),
            attribute("text of the same digits: another label", .account, .string("443")),
        ]
    }

    private static func remainingKey(
        _ comment: String, _ attributes: Attributes, _ accessGroup: String,
        of itemClass: ItemClass = .genericPassword, isSynchronizable: Bool = false,
        isTombstone: Bool = false
    ) -> LabelVector {
        LabelVector(
            comment, ["RemainingKey"], indexKey: Hex(key), itemClass: itemClass.name,
            isSynchronizable: isSynchronizable, isTombstone: isTombstone, domain: .remainingKey,
            fields: FieldVector.fields(attributes), accessGroup: Hex(accessGroup.utf8),
            label: Hex(
                index.remainingKeyLabel(
                    attributes, accessGroup: accessGroup,
                    in: space(itemClass, isSynchronizable, isTombstone))))
    }

    private static var remainingKeys: [LabelVector] {
        let web: Attributes = [
            .securityDomain: .string("realm"), .protocolType: .number(0x6874_7073),
            .authenticationType: .string("dflt"), .port: .number(443), .path: .string("/login"),
        ]
        return [
            remainingKey("a generic password, nothing set", [:], "group"),
            remainingKey("another group", [:], "groupA"),
            remainingKey("an empty group", [:], ""),
            remainingKey("a synchronizable item", [:], "group", isSynchronizable: true),
            remainingKey("a tombstone", [:], "group", isTombstone: true),
            remainingKey(
                "a generic password, everything set",
                [
                    .syncViewHint: .string("view"), .tokenID: .string("token"),
                    .sharingGroup: .string("sharing"),
                ], "group"),
            remainingKey(
                "an attribute that is set to its empty value: as if absent",
                [.tokenID: .string("")], "group"),
            remainingKey("an internet password, nothing set", [:], "group", of: .internetPassword),
            remainingKey("an internet password", web, "group", of: .internetPassword),
            remainingKey("a certificate, nothing set", [:], "group", of: .certificate),
            remainingKey(
                "a certificate", RecordVectors.certificate.attributes, "group", of: .certificate),
            remainingKey("a key, nothing set", [:], "group", of: .key),
            remainingKey("a key", RecordVectors.key.attributes, "group", of: .key),
            remainingKey(
                "a key with dates", [.startDate: .date(0.5), .endDate: .date(-1)], "group",
                of: .key),
            remainingKey(
                "protocol and authentication type of the other kind",
                [
                    .protocolType: .string("https"), .authenticationType: .number(0x6466_6C74),
                    .path: .data(Data([0xFF])),
                ], "group", of: .internetPassword),
            remainingKey(
                "attributes that are not in the rest of the primary key don't count",
                [.account: .string("alice"), .service: .string("s"), .label: .string("l")],
                "group"),
        ]
    }

    private static var accessGroups: [LabelVector] {
        func group(
            _ comment: String, _ name: String, of itemClass: ItemClass = .genericPassword,
            isSynchronizable: Bool = false, isTombstone: Bool = false
        ) -> LabelVector {
            LabelVector(
                comment, ["AccessGroup"], indexKey: Hex(key), itemClass: itemClass.name,
                isSynchronizable: isSynchronizable, isTombstone: isTombstone,
                domain: .accessGroup, accessGroup: Hex(name.utf8),
                label: Hex(
                    index.label(
                        ofAccessGroup: name, in: space(itemClass, isSynchronizable, isTombstone))))
        }
        return [
            group("a group", "group"),
            group("a group of a synchronizable item", "group", isSynchronizable: true),
            group("a group of a tombstone", "group", isTombstone: true),
            group("a group of internet passwords", "group", of: .internetPassword),
            group("a group of certificates", "group", of: .certificate),
            group("a group of keys", "group", of: .key),
            group("a name beyond ASCII", "gr\u{FC}ppe"),
            group("an empty name", ""),
        ]
    }

    /// Inputs with the label of a different input.
    private static var separation: [LabelVector] {
        func mistaken(_ comment: String, _ input: LabelVector, for other: LabelVector)
            -> LabelVector
        {
            LabelVector(
                comment, ["Separation"], .invalid, indexKey: input.indexKey,
                itemClass: input.itemClass, isSynchronizable: input.isSynchronizable,
                isTombstone: input.isTombstone, domain: input.domain, fields: input.fields,
                accessGroup: input.accessGroup, label: other.label)
        }
        let text = attribute("", .account, .string("443"))
        return [
            mistaken("text as a number", text, for: attribute("", .account, .number(443))),
            mistaken(
                "decomposed text as composed", attribute("", .account, .string("e\u{301}")),
                for: attribute("", .account, .string("\u{E9}"))),
            mistaken(
                "one attribute as another", text, for: attribute("", .service, .string("443"))),
            mistaken("one group as another", accessGroups[0], for: accessGroups[1]),
            mistaken(
                "a byte moved from one attribute to the next",
                remainingKey("", [.syncViewHint: .string("ab"), .tokenID: .string("c")], "group"),
                for: remainingKey(
                    "", [.syncViewHint: .string("a"), .tokenID: .string("bc")], "group")),
        ]
    }
}
