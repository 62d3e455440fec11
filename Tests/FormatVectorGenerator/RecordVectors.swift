// RecordVectors: the vectors of encoded records, which Documentation/Formats/row-v1.md describes
// under "Metadata".

import FormatVectors
import FoundationEssentials
import KeychainCore
import KeychainSQLite

enum RecordVectors {
    /// The item of the worked example: a generic password with a secret.
    static let password = ItemRecord(
        itemClass: .genericPassword,
        attributes: [
            .account: .string("alice"), .service: .string("mail.example"),
            .label: .string("Mail"), .creationDate: .date(800_000_000),
            .modificationDate: .date(800_000_000.25),
        ],
        accessGroup: "com.example.mail", isSynchronizable: false, isTombstone: false,
        secretTag: Example.counting(from: 0xA0, count: 16))

    /// A synchronizable internet password with many attributes and no secret.
    static let webPassword = ItemRecord(
        itemClass: .internetPassword,
        attributes: [
            .account: .data(Data([0, 0xFF])), .server: .string("www.example"),
            .port: .number(443), .protocolType: .number(0x6874_7073),
            .authenticationType: .string("dflt"), .path: .string("/"),
            .securityDomain: .string(""), .comment: .string("gr\u{FC}n \u{1F512} e\u{301}"),
            .creator: .number(-1), .isInvisible: .number(1), .type: .number(.max),
            .pcsPublicKey: .data(Data()), .creationDate: .date(-0.5),
            .modificationDate: .date(0),
        ],
        accessGroup: "group", isSynchronizable: true, isTombstone: false)

    /// A certificate with the attributes read from its DER.
    static let certificate = ItemRecord(
        itemClass: .certificate,
        attributes: [
            .certificateType: .number(1), .certificateEncoding: .number(3),
            .subject: .data(Data([0x30, 0x00])), .issuer: .data(Data([0x30, 0x01])),
            .serialNumber: .data(Data([0x00, 0xFF])), .subjectKeyID: .data(Data([1, 2, 3])),
            .publicKeyHash: .data(Data(Example.counting(from: 0x50, count: 20))),
            .label: .string("mail.example"), .creationDate: .date(800_000_000),
            .modificationDate: .date(800_000_000),
        ],
        accessGroup: "group", isSynchronizable: false, isTombstone: false)

    /// The private key of the certificate.
    static let key = ItemRecord(
        itemClass: .key,
        attributes: [
            .applicationLabel: .data(Data(Example.counting(from: 0x50, count: 20))),
            .applicationTag: .string("example.key"), .keyClass: .number(1), .type: .number(73),
            .creator: .number(0), .keySizeInBits: .number(256), .effectiveKeySize: .number(256),
            .isPermanent: .number(1), .isPrivate: .number(1), .isModifiable: .number(1),
            .isSensitive: .number(0), .wasAlwaysSensitive: .number(0), .isExtractable: .number(1),
            .wasNeverExtractable: .number(0), .canEncrypt: .number(0), .canDecrypt: .number(1),
            .canDerive: .number(1), .canSign: .number(1), .canVerify: .number(0),
            .canSignRecover: .number(0), .canVerifyRecover: .number(0), .canWrap: .number(0),
            .canUnwrap: .number(1), .creationDate: .date(800_000_000),
            .modificationDate: .date(800_000_000),
        ],
        accessGroup: "group", isSynchronizable: false, isTombstone: false)

    static let tombstone = ItemRecord(
        itemClass: .genericPassword,
        attributes: [.account: .string("alice"), .modificationDate: .date(1)],
        accessGroup: "group", isSynchronizable: true, isTombstone: true)

    static var file: VectorFile<RecordEncodingVector> {
        VectorFile(
            algorithm: "swift-keychain item record",
            notes: [
                "Constraints": "The fields accc and bset.",
                "Canonical": "Order and number of the fields.",
                "Fields": "Names of fields, and values that a name does not take.",
                "Head": "Version, class, secret's tag and count.",
                "Program": "The field prog.",
                "Text": "What is UTF-8 and what is not.",
                "Values": "Types, sizes and values.",
            ],
            tests: valid + head + canonical + fields + values + texts + classes + kinds
                + constraints + programs)
    }

    // MARK: Building records field by field

    private typealias Field = (name: String, type: UInt8, value: [UInt8])

    private static let group: Field = ("agrp", 1, Array("g".utf8))
    private static let sync: Field = ("sync", 3, bigEndianBytes(0))
    private static let tomb: Field = ("tomb", 3, bigEndianBytes(0))
    private static let account: Field = ("acct", 1, Array("a".utf8))

    private static func bytes(
        of fields: [Field], version: UInt8 = 1, itemClass: String = "genp",
        hasSecret: UInt8 = 0, tag: [UInt8] = [], count: UInt16? = nil
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.number(version)
        writer.bytes(itemClass.utf8)
        writer.number(hasSecret)
        writer.bytes(tag)
        writer.number(count ?? UInt16(fields.count))
        for field in fields {
            writer.bytes(field.name.utf8)
            writer.number(field.type)
            writer.number(UInt32(field.value.count))
            writer.bytes(field.value)
        }
        return writer.result
    }

    private static func test(
        _ comment: String, _ flag: String, _ record: ItemRecord
    ) -> RecordEncodingVector {
        RecordEncodingVector(
            comment, [flag], .valid, encoded: Hex(record.encoded()), record: RecordVector(record))
    }

    private static func invalid(
        _ comment: String, _ flag: String, _ bytes: [UInt8]
    ) -> RecordEncodingVector {
        RecordEncodingVector(comment, [flag], .invalid, encoded: Hex(bytes))
    }

    // MARK: Tests

    private static var valid: [RecordEncodingVector] {
        func record(_ attributes: Attributes, group: String = "g") -> ItemRecord {
            ItemRecord(
                itemClass: .genericPassword, attributes: attributes, accessGroup: group,
                isSynchronizable: false, isTombstone: false)
        }
        return [
            test("a generic password with a secret", "Head", password),
            test("an internet password without a secret", "Values", webPassword),
            test("a tombstone", "Head", tombstone),
            test("no attributes", "Fields", record([:])),
            test("an empty access group", "Fields", record([:], group: "")),
            test(
                "every attribute of a generic password", "Fields",
                record(
                    Dictionary(
                        uniqueKeysWithValues: Attribute.allCases.filter {
                            ItemClass.genericPassword.has($0)
                        }.map { ($0, .empty(of: $0.kind)) }))),
            test("an account that is a number", "Values", record([.account: .number(.min)])),
            test("text in an attribute of numbers", "Values", record([.type: .string("07")])),
            test("dates before 2001", "Values", record([.creationDate: .date(-978_307_200)])),
            test("a date of -0.0", "Values", record([.creationDate: .date(-0.0)])),
            test("text with a zero byte", "Text", record([.account: .string("a\0b")])),
            test("noncharacters", "Text", record([.account: .string("\u{FFFF}\u{10FFFF}")])),
            test("a byte order mark stays", "Text", record([.account: .string("\u{FEFF}a")])),
            test(
                "text of 300 bytes", "Values",
                record([.comment: .string(String(repeating: "x", count: 300))])),
        ]
    }

    private static var head: [RecordEncodingVector] {
        let fields = [group, sync, tomb]
        let tag = Example.counting(from: 0, count: 16)
        return [
            invalid("no bytes", "Head", []),
            invalid("version 0", "Head", bytes(of: fields, version: 0)),
            invalid("version 2", "Head", bytes(of: fields, version: 2)),
            invalid("an unknown class", "Head", bytes(of: fields, itemClass: "xxxx")),
            invalid("a secret flag of 2", "Head", bytes(of: fields, hasSecret: 2, tag: tag)),
            invalid("a secret flag without a tag", "Head", bytes(of: fields, hasSecret: 1)),
            invalid("a tag without a secret flag", "Head", bytes(of: fields, tag: tag)),
            invalid("the version only", "Head", [1]),
            invalid("no count", "Head", bytes(of: []).dropLast(2)),
            invalid("half a count", "Head", bytes(of: []).dropLast()),
        ]
    }

    private static var canonical: [RecordEncodingVector] {
        let fields = [account, group, sync, tomb]
        return [
            invalid("out of order", "Canonical", bytes(of: [group, account, sync, tomb])),
            invalid(
                "an attribute twice", "Canonical", bytes(of: [account, account, group, sync, tomb])),
            invalid("an access group twice", "Canonical", bytes(of: [group, group, sync, tomb])),
            invalid("a count one too small", "Canonical", bytes(of: fields, count: 3)),
            invalid("a count one too large", "Canonical", bytes(of: fields, count: 5)),
            invalid("a count of 65535", "Canonical", bytes(of: fields, count: 65_535)),
            invalid("a byte after the last field", "Canonical", bytes(of: fields) + [0]),
            invalid("the last byte missing", "Canonical", bytes(of: fields).dropLast()),
            invalid(
                "the last field missing but for its name", "Canonical",
                bytes(of: fields).dropLast(13)),
        ]
    }

    private static var fields: [RecordEncodingVector] {
        let number = bigEndianBytes(0)
        return [
            invalid("no fields", "Fields", bytes(of: [])),
            invalid("no access group", "Fields", bytes(of: [account, sync, tomb])),
            invalid("no sync", "Fields", bytes(of: [account, group, tomb])),
            invalid("no tomb", "Fields", bytes(of: [account, group, sync])),
            invalid(
                "an access group that is data", "Fields",
                bytes(of: [("agrp", 2, Array("g".utf8)), sync, tomb])),
            invalid(
                "a sync of 2", "Fields", bytes(of: [group, ("sync", 3, bigEndianBytes(2)), tomb])),
            invalid(
                "a tomb of -1", "Fields",
                bytes(of: [group, sync, ("tomb", 3, bigEndianBytes(.max))])),
            invalid(
                "a sync that is text", "Fields",
                bytes(of: [group, ("sync", 1, Array("1".utf8)), tomb])),
            invalid(
                "a tomb that is a date", "Fields", bytes(of: [group, sync, ("tomb", 4, number)])),
            invalid(
                "an unknown attribute", "Fields",
                bytes(of: [group, sync, tomb, ("zzzz", 3, number)])),
            invalid(
                "an attribute of the other class", "Fields",
                bytes(of: [group, ("srvr", 1, []), sync, tomb])),
            invalid(
                "an attribute of the other class, the other way", "Fields",
                bytes(of: [group, ("svce", 1, []), sync, tomb], itemClass: "inet")),
            invalid(
                "a name of zeros", "Fields",
                bytes(of: [("\0\0\0\0", 3, number), group, sync, tomb])),
        ]
    }

    private static var values: [RecordEncodingVector] {
        func value(_ comment: String, _ type: UInt8, _ bytes: [UInt8]) -> RecordEncodingVector {
            invalid(comment, "Values", self.bytes(of: [("acct", type, bytes), group, sync, tomb]))
        }
        /// A record with a field that states a wrong size for its value.
        func size(_ comment: String, _ size: UInt32) -> RecordEncodingVector {
            var record = bytes(of: [group, sync, tomb, ("type", 1, Array("abcd".utf8))])
            record.replaceSubrange(
                record.count - 8..<record.count - 4, with: bigEndianBytes(UInt64(size)).suffix(4))
            return invalid(comment, "Values", record)
        }
        return [
            value("type 0", 0, []),
            value("type 5", 5, bigEndianBytes(0)),
            value("a number of 7 bytes", 3, Array(bigEndianBytes(0).dropLast())),
            value("a number of 9 bytes", 3, bigEndianBytes(0) + [0]),
            value("a number of no bytes", 3, []),
            value("a date of 4 bytes", 4, [0, 0, 0, 0]),
            value("a date of no bytes", 4, []),
            size("a size one too large", 5),
            size("a size one too small", 3),
            size("a size of 2 GiB", 1 << 31),
            size("a size of 4 GiB - 1", .max),
        ]
    }

    private static var classes: [RecordEncodingVector] {
        func every(_ itemClass: ItemClass) -> ItemRecord {
            ItemRecord(
                itemClass: itemClass,
                attributes: Dictionary(
                    uniqueKeysWithValues: Attribute.allCases.filter { itemClass.has($0) }
                        .map { ($0, .empty(of: $0.kind)) }),
                accessGroup: "g", isSynchronizable: false, isTombstone: false)
        }
        return [
            test("a certificate", "Fields", certificate),
            test("a private key", "Fields", key),
            test("every attribute of an internet password", "Fields", every(.internetPassword)),
            test("every attribute of a certificate", "Fields", every(.certificate)),
            test("every attribute of a key", "Fields", every(.key)),
            invalid(
                "an account of a certificate", "Fields",
                bytes(of: [account, group, sync, tomb], itemClass: "cert")),
            invalid(
                "a type of a certificate", "Fields",
                bytes(of: [group, sync, tomb, ("type", 3, bigEndianBytes(1))], itemClass: "cert")),
            invalid(
                "an issuer of a key", "Fields",
                bytes(of: [group, ("issr", 2, []), sync, tomb], itemClass: "keys")),
            invalid(
                "a public key hash of a password", "Fields",
                bytes(of: [group, ("pkhh", 2, []), sync, tomb])),
            invalid(
                "the class of identities", "Head",
                bytes(of: [group, sync, tomb], itemClass: "idnt")),
        ]
    }

    private static var kinds: [RecordEncodingVector] {
        let text = Array("a".utf8)
        func kind(
            _ comment: String, _ name: String, _ type: UInt8, _ value: [UInt8],
            of itemClass: String = "genp"
        ) -> RecordEncodingVector {
            let all: [Field] = [group, sync, tomb, (name, type, value)]
            return invalid(
                comment, "Values",
                bytes(of: all.sorted { $0.name < $1.name }, itemClass: itemClass))
        }
        return [
            kind("text where data belong", "issr", 1, text, of: "cert"),
            kind("a number where data belong", "klbl", 3, bigEndianBytes(1), of: "keys"),
            kind("data where a number belongs", "bsiz", 2, text, of: "keys"),
            kind("text of a decimal integer where a number belongs", "type", 1, Array("-7".utf8)),
            kind("a date where a number belongs", "type", 4, bigEndianBytes(0)),
            kind("a number where a date belongs", "sdat", 3, bigEndianBytes(0), of: "keys"),
            kind("data where text belongs", "vwht", 2, text),
            kind("a number where text belongs", "tkid", 3, bigEndianBytes(0)),
            kind("a date where text or data belong", "labl", 4, bigEndianBytes(0)),
            kind("an infinite date", "cdat", 4, bigEndianBytes(0x7FF0_0000_0000_0000)),
            kind("a date that is no number", "cdat", 4, bigEndianBytes(0x7FF8_0000_0000_0000)),
        ]
    }

    private static var constraints: [RecordEncodingVector] {
        func with(
            _ comment: String, _ constraints: AccessConstraints, enrollment: [UInt8]? = nil
        ) -> RecordEncodingVector {
            var record = tombstone
            record.isTombstone = false
            record.isSynchronizable = false
            record.constraints = constraints
            record.enrollment = enrollment.map { Data($0) }
            return test(comment, "Constraints", record)
        }
        func bad(_ comment: String, _ type: UInt8, _ value: [UInt8]) -> RecordEncodingVector {
            invalid(comment, "Constraints", bytes(of: [("accc", type, value), group, sync, tomb]))
        }
        func badEnrollment(
            _ comment: String, _ constraints: AccessConstraints?, _ type: UInt8, _ value: [UInt8]
        ) -> RecordEncodingVector {
            var fields: [Field] = [group, ("bset", type, value), sync, tomb]
            if let constraints {
                fields.insert(("accc", 3, bigEndianBytes(constraints.rawValue)), at: 0)
            }
            return invalid(comment, "Constraints", bytes(of: fields))
        }
        let set = Example.counting(from: 0x60, count: 64)
        return [
            with("presence", .userPresence),
            with("the use of a key", [.userPresence, .privateKeyUsage]),
            with("an application password", .applicationPassword),
            with("a passcode and a password", [.devicePasscode, .and, .applicationPassword]),
            with("a password as the only operand of or", [.applicationPassword, .or]),
            with(
                "a password and either biometry or passcode",
                [.applicationPassword, .biometryAny, .or, .devicePasscode]),
            with("biometry or passcode", [.biometryCurrentSet, .or, .devicePasscode]),
            bad("no bit", 3, bigEndianBytes(0)),
            bad("a bit without a meaning", 3, bigEndianBytes(1 << 2)),
            bad("the highest bit", 3, bigEndianBytes(1 << 63 | 1)),
            bad("constraints that are data", 2, bigEndianBytes(1)),
            bad("constraints that are text", 1, Array("1".utf8)),
            with("an enrollment of 1 byte", .biometryCurrentSet, enrollment: [0]),
            with(
                "an enrollment of 64 bytes", [.biometryCurrentSet, .devicePasscode],
                enrollment: set),
            badEnrollment("an enrollment of no bytes", .biometryCurrentSet, 2, []),
            badEnrollment("an enrollment of 65 bytes", .biometryCurrentSet, 2, set + [0]),
            badEnrollment("an enrollment that is text", .biometryCurrentSet, 1, Array("a".utf8)),
            badEnrollment("an enrollment for any biometry", .biometryAny, 2, set),
            badEnrollment("an enrollment without constraints", nil, 2, set),
        ]
    }

    private static var programs: [RecordEncodingVector] {
        func with(_ comment: String, _ program: String) -> RecordEncodingVector {
            var record = password
            record.program = program
            return test(comment, "Program", record)
        }
        func bad(_ comment: String, _ type: UInt8, _ value: [UInt8]) -> RecordEncodingVector {
            invalid(comment, "Program", bytes(of: [group, ("prog", type, value), sync, tomb]))
        }
        return [
            with("a program", "notes"),
            with("a program of 1 byte", "n"),
            with("a program of 255 bytes", String(repeating: "n", count: 255)),
            with("a program that is more than ASCII", "gr\u{FC}n"),
            bad("a program of no bytes", 1, []),
            bad("a program of 256 bytes", 1, Array(repeating: 0x6E, count: 256)),
            bad("a program that is data", 2, Array("notes".utf8)),
            bad("a program that is a number", 3, bigEndianBytes(1)),
            bad("a program that is no UTF-8", 1, [0xFF]),
            invalid(
                "a program twice", "Program",
                bytes(of: [group, ("prog", 1, [0x6E]), ("prog", 1, [0x6E]), sync, tomb])),
        ]
    }

    private static var texts: [RecordEncodingVector] {
        func text(_ comment: String, _ bytes: [UInt8]) -> RecordEncodingVector {
            invalid(comment, "Text", self.bytes(of: [("acct", 1, bytes), group, sync, tomb]))
        }
        return [
            text("a byte that is never in UTF-8", [0xFF]),
            text("a continuation byte alone", [0x80]),
            text("a sequence cut short", [0xE2, 0x82]),
            text("zero in two bytes", [0xC0, 0x80]),
            text("a slash in three bytes", [0xE0, 0x80, 0xAF]),
            text("a surrogate", [0xED, 0xA0, 0x80]),
            text("a pair of surrogates", [0xED, 0xA0, 0xBD, 0xED, 0xB4, 0x92]),
            text("a code point above 10FFFF", [0xF4, 0x90, 0x80, 0x80]),
            invalid(
                "an access group that is no UTF-8", "Text",
                bytes(of: [("agrp", 1, [0xFF]), sync, tomb])),
        ]
    }
}
