import Foundation
import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `Output of the tool` {
    @Test func `JSON output can be read back by Foundation`() throws {
        let strings = ["", "a\"b\\c", "\u{0}\u{1F}\n\r\t\u{7F}\u{85}", "é😀", "\u{2028}\u{202E}"]
        let value = JSON.object([
            ("strings", .array(strings.map { .string($0) })),
            ("numbers", .array([.number(.min), .number(0), .number(.max)])),
            ("flags", .array([.bool(true), .bool(false), .null])),
            ("empty", .array([])), ("nothing", .object([])),
        ])
        let data = Data(value.text.utf8)
        let read = try #require(
            try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(read["strings"] as? [String] == strings)
        #expect(read["numbers"] as? [Int64] == [.min, 0, .max])
        #expect((read["flags"] as? [Any])?.count == 3)
        #expect((read["empty"] as? [Any])?.isEmpty == true)
        #expect((read["nothing"] as? [String: Any])?.isEmpty == true)
        #expect(!value.text.unicodeScalars.contains { $0.value != 10 && $0.isUnsafeInLine })
    }

    @Test func `members of JSON output are in the given order`() {
        #expect(
            JSON.object([("b", .null), ("a", .array([.number(1), .bool(true)]))]).text
                == "{\n  \"b\": null,\n  \"a\": [\n    1,\n    true\n  ]\n}")
    }

    @Test(arguments: [
        ("plain é", "plain é"), ("a\nb", "a\\nb"), ("\u{1B}[2J", "\\u{1b}[2J"),
        ("\\n", "\\\\n"), ("\u{202E}txt", "\\u{202e}txt"), ("\u{9B}", "\\u{9b}"), ("", ""),
    ])
    func `control characters in an attribute can't move the cursor or end the line`(
        _ text: String, _ shown: String
    ) {
        #expect(printable(text) == shown)
    }

    @Test(arguments: ["", "plain", "two words", "it's", "$HOME `x` \"y\" \\", "*", "-é"])
    func `a quoted word is read back by a shell unchanged`(_ text: String) throws {
        let home = try TestHome()
        #expect(try home.run("printf %s \(shellQuoted(text))").output == text)
    }

    // The texts are from `date -u -d @$((SECONDS + 978307200)) +%FT%TZ`.
    @Test(arguments: [
        (0.0, "2001-01-01T00:00:00Z"), (-0.5, "2000-12-31T23:59:59Z"),
        (-26_524_800.0, "2000-02-29T00:00:00Z"), (94_607_999.0, "2003-12-31T23:59:59Z"),
        (99_705_600.9, "2004-02-29T00:00:00Z"), (-978_307_200.0, "1970-01-01T00:00:00Z"),
        (799_329_600.0, "2026-05-01T12:00:00Z"), (3_124_224_000.0, "2100-01-02T00:00:00Z"),
        (3_129_148_800.0, "2100-02-28T00:00:00Z"), (3_129_235_200.0, "2100-03-01T00:00:00Z"),
        (252_423_993_599.0, "9999-12-31T23:59:59Z"), (-63_113_904_000.0, "0001-01-01T00:00:00Z"),
    ])
    func `a date is shown as date and time in UTC`(_ seconds: Double, _ text: String) {
        #expect(timestamp(seconds) == text)
        #expect(Timestamp.seconds(text) == seconds.rounded(.down))
    }

    @Test(arguments: [
        "", "2026-05-01", "2026-13-01T00:00:00Z", "2026-05-01T24:00:00Z", "2026-05-01T12:00:00",
        "2026-05-01T12:00:00+02:00", "２026-05-01T12:00:00Z", "2026-02-29T00:00:00Z",
        "2026-02-31T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-12-32T00:00:00Z", "2026-05-00T00:00:00Z",
    ])
    func `text that isn't a date and time in UTC is refused`(_ text: String) {
        #expect(Timestamp.seconds(text) == nil)
    }

    // The seconds are from `date -u -d TEXT +%s`.
    @Test(
        arguments: [
            ("1970-01-01", 0), ("2026-05-01", 1_777_593_600), ("2024-02-29", 1_709_164_800),
            ("2026-12-31T23:59:59Z", 1_798_761_599), ("1969-12-31T23:59:58Z", -2),
            ("2026-02-31", nil), ("2026-02-29", nil), ("2026-13-01", nil),
            ("2026-05-01T24:00:00Z", nil), ("yesterday", nil), ("", nil),
        ] as [(String, Int64?)])
    func `as an argument, a date is accepted only if the calendar has it`(
        _ text: String, _ seconds: Int64?
    ) {
        #expect(MomentArgument(argument: text)?.milliseconds == seconds.map { $0 * 1000 })
    }

    @Test(arguments: [Double.nan, .infinity, 1e300, -1e300, 252_423_993_600, -63_113_904_001])
    func `a date outside the years 1 to 9999 is shown as a number`(_ seconds: Double) {
        #expect(timestamp(seconds) == "\(seconds)")
    }

    // The bytes are from `openssl asn1parse -genstr`. Every truncation and every bit flip of the
    // shorter name is tried.
    @Test func `a certificate's distinguished name is decoded, and invalid bytes don't trap`() {
        let name: [UInt8] =
            [0x31, 0x0B, 0x30, 0x09, 0x06, 0x03, 0x55, 0x04, 0x06, 0x13, 0x02, 0x44, 0x45]
            + [0x31, 0x0D, 0x30, 0x0B, 0x06, 0x03, 0x55, 0x04, 0x0A, 0x0C, 0x04]
            + Array("Büh".utf8)
        let sequence = [0x30, UInt8(name.count)] + name
        #expect(KeyNames.distinguishedName(name) == "C=DE, O=Büh")
        #expect(KeyNames.distinguishedName(sequence) == "C=DE, O=Büh")
        let long =
            [0x31, 0x81, 0x8C, 0x30, 0x81, 0x89, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x81, 0x81]
            + [UInt8](repeating: 0x78, count: 129)
        #expect(
            KeyNames.distinguishedName(long) == "CN=" + String(repeating: "x", count: 129))
        #expect(KeyNames.distinguishedName(long + [0]) == nil)
        for count in 0..<sequence.count {
            #expect(KeyNames.distinguishedName(Array(sequence[..<count])) == nil)
        }
        for index in sequence.indices {
            for bit in 0..<8 {
                var flipped = sequence
                flipped[index] ^= 1 << UInt8(bit)
                // The call must not trap, and the text must be shorter than the bytes.
                let text = KeyNames.distinguishedName(flipped) ?? ""
                #expect(text.utf8.count < sequence.count)
            }
        }
        #expect(KeyNames.distinguishedName([0x31, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
        #expect(KeyNames.distinguishedName([]) == nil)
    }

    @Test func `columns are as wide as their widest cell`() {
        #expect(table([["a", "bb"], ["ccc", ""], ["é", "d"]]) == "a    bb\nccc\né    d\n")
    }

    @Test(arguments: [
        ("Mail", "mail ", true), ("e\u{301}", "\u{E9}", true), ("mail", "mail2", false),
    ])
    func `names that differ only in case, surrounding spaces or Unicode form count as similar`(
        _ a: String, _ b: String, _ isLike: Bool
    ) {
        #expect(Diagnosis.isLike(.string(a), .string(b)) == isLike)
    }
}
