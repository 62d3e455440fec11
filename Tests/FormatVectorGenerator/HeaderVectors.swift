// HeaderVectors: Documentation/Formats/database-v1.md, "Header" and "Digest".

import FormatVectors
import KeychainCrypto
import KeychainCore
import KeychainSQLite

enum HeaderVectors {
    private static let key = Example.counting(from: 0x60)
    private static let authenticator = StoreAuthenticator(key: SecretBytes(copying: key))
    private static let keychainID = Example.counting(from: 0xC0, count: 16)

    static var file: VectorFile<HeaderVector> {
        VectorFile(
            algorithm: "swift-keychain store header",
            notes: [
                "Authentication": "The tag over the header.",
                "Digest": "The digest over rows.",
                "Structure": "Fields with values that no version 1 header has. Where the size "
                    + "allows it, the tag was made anew after the change.",
            ],
            tests: valid + authentication + structure)
    }

    private static func row(_ number: UInt8) -> DigestRowVector {
        DigestRowVector(
            uuid: Hex(Example.counting(from: number, count: 16)),
            metadataTag: Hex(Example.counting(from: number &* 7, count: 16)))
    }

    private static func contribution(_ row: DigestRowVector) -> StoreDigest {
        authenticator.contribution(reference: row.uuid.bytes, metadataTag: row.metadataTag.bytes)
    }

    private static func header(_ rows: [DigestRowVector]) -> StoreHeader {
        var header = StoreHeader(keychainID: keychainID, keybagGeneration: 3)
        header.generation = 41 + UInt64(rows.count)
        header.itemCount = UInt64(rows.count)
        header.setAsideCount = 2
        header.digest = rows.reduce(.zero) { $0 + contribution($1) }
        return header
    }

    private static func test(
        _ comment: String, _ header: StoreHeader, rows: [DigestRowVector]?
    ) -> HeaderVector {
        var test = HeaderVector(
            comment, ["Digest"], .valid, integrityKey: Hex(key),
            header: Hex(header.encoded(with: authenticator)))
        test.keychainID = Hex(header.keychainID)
        test.generation = header.generation
        test.itemCount = header.itemCount
        test.setAsideCount = header.setAsideCount
        test.keybagGeneration = header.keybagGeneration
        test.digest = Hex(header.digest.bytes)
        test.rows = rows
        return test
    }

    private static var valid: [HeaderVector] {
        let rows = (1...8).map { row($0) }
        var afterRemoval = header(rows)
        afterRemoval.digest = afterRemoval.digest - contribution(rows[0])
        afterRemoval.itemCount -= 1
        // 0 - x: the sum passes below zero and stands at 2^256 - x.
        var largest = StoreHeader(keychainID: keychainID, keybagGeneration: .max)
        largest.generation = .max
        largest.itemCount = .max
        largest.setAsideCount = .max
        largest.digest = .zero - contribution(rows[0]) + contribution(rows[1])
        return [
            test("three rows", header(Array(rows.prefix(3))), rows: Array(rows.prefix(3))),
            test(
                "a new store", StoreHeader(keychainID: keychainID, keybagGeneration: 1), rows: []),
            test("one row", header([rows[4]]), rows: [rows[4]]),
            test("eight rows in another order", header(rows), rows: rows.reversed()),
            test("a row added and removed", afterRemoval, rows: Array(rows.dropFirst())),
            test("the largest numbers, and a sum that passed below zero", largest, rows: nil),
        ]
    }

    private static func invalid(
        _ comment: String, _ flag: String, _ header: [UInt8]
    ) -> HeaderVector {
        HeaderVector(comment, [flag], .invalid, integrityKey: Hex(key), header: Hex(header))
    }

    private static var example: [UInt8] {
        header((1...3).map { row($0) }).encoded(with: authenticator)
    }

    private static var authentication: [HeaderVector] {
        func changed(_ comment: String, _ offset: Int) -> HeaderVector {
            var bytes = example
            bytes[offset] ^= 1
            return invalid(comment, "Authentication", bytes)
        }
        return [
            changed("the keychain's identifier changed", 8),
            changed("the generation changed", 31),
            changed("the item count changed", 39),
            changed("the set-aside count changed", 47),
            changed("the keybag's generation changed", 55),
            changed("the mask value changed", 56),
            changed("the digest changed", 72),
            changed("the tag's first bit changed", 104),
            changed("the tag's last bit changed", 135),
            HeaderVector(
                "another integrity key", ["Authentication"], .invalid,
                integrityKey: Hex(Example.counting(from: 0x61)), header: Hex(example)),
        ]
    }

    private static var structure: [HeaderVector] {
        func setting(_ comment: String, _ offset: Int, _ value: UInt8) -> HeaderVector {
            var body = Array(example[..<104])
            body[offset] = value
            return invalid(comment, "Structure", body + authenticator.tag(of: body))
        }
        let longer = Array(example[..<104]) + [0]
        return [
            setting("the wrong magic", 0, 0x6B),
            setting("version 0", 4, 0),
            setting("version 2", 4, 2),
            setting("reserved bytes that are not zero", 7, 1),
            invalid("no bytes", "Structure", []),
            invalid("the last byte missing", "Structure", Array(example.dropLast())),
            invalid("a byte after the tag", "Structure", example + [0]),
            invalid(
                "a byte before the tag", "Structure", longer + authenticator.tag(of: longer)),
        ]
    }

    // MARK: Example

    static var exampleLines: [String] {
        let rows = (1...3).map { row($0) }
        var lines = Example.dump("integrity key", key)
        for (index, row) in rows.enumerated() {
            lines.append("")
            lines += Example.dump("row \(index + 1), uuid", row.uuid.bytes)
            lines += Example.dump("row \(index + 1), metadata tag", row.metadataTag.bytes)
            lines += Example.dump("row \(index + 1), contribution", contribution(row).bytes)
        }
        return lines + [""] + Example.dump("header", example)
    }
}
