// AnchorVectors: Documentation/Formats/database-v1.md, "Anchor".

import FormatVectors
import KeychainCrypto
import KeychainCore

enum AnchorVectors {
    private static let key = Example.counting(from: 0x60)
    private static let authenticator = StoreAuthenticator(key: SecretBytes(copying: key))
    private static let none = [UInt8](repeating: 0, count: 48)

    /// A record as `Anchor` writes it. A test compares such a record with what `Anchor` writes.
    private static func record(
        _ generation: UInt64, magic: String = "KCAN", version: UInt32 = 1
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(magic.utf8)
        writer.number(version)
        writer.number(generation)
        return writer.result + authenticator.tag(of: writer.result)
    }

    static var file: VectorFile<AnchorVector> {
        func test(
            _ comment: String, _ flag: String, _ file: [UInt8], _ generation: UInt64?
        ) -> AnchorVector {
            AnchorVector(
                comment, [flag], integrityKey: Hex(key), file: Hex(file), generation: generation)
        }
        func changed(_ offset: Int) -> [UInt8] {
            var record = record(9)
            record[offset] ^= 1
            return record
        }
        return VectorFile(
            algorithm: "swift-keychain anchor",
            notes: [
                "Records": "Which of the two records counts.",
                "Structure":
                    "Invalid records. The tag is valid unless the comment says otherwise.",
            ],
            tests: [
                test("two records", "Records", record(8) + record(7), 8),
                test("two records, the second one newer", "Records", record(8) + record(9), 9),
                test(
                    "generation 1 alone: the first record was never written", "Records",
                    none + record(1), 1),
                test("the first record alone", "Records", record(2), 2),
                test(
                    "the first record and part of the second", "Records",
                    record(2) + record(3)[..<20], 2),
                test("the newer record damaged", "Records", record(8) + changed(15), 8),
                test("records in each other's places", "Records", record(7) + record(8), 8),
                test("bytes after the second record", "Records", record(8) + record(7) + [0], 8),
                test("the largest generation", "Records", record(.max - 1) + record(.max), .max),
                test("no bytes", "Structure", [], nil),
                test("half a record", "Structure", Array(record(8)[..<24]), nil),
                test("96 zeros", "Structure", none + none, nil),
                test("the generation changed, the tag not", "Structure", none + changed(15), nil),
                test("the tag changed", "Structure", none + changed(47), nil),
                test("the wrong magic", "Structure", record(8, magic: "KCAM"), nil),
                test("version 0", "Structure", record(8, version: 0), nil),
                test("version 2", "Structure", record(8, version: 2), nil),
            ])
    }
}
