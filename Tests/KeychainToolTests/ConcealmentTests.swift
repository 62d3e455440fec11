import Testing

@testable import KeychainTool

@Suite struct `Secrets in a stream` {
    private func masked(_ parts: [[UInt8]], _ secrets: [String]) -> String {
        var concealment = Concealment(secrets.map { Array($0.utf8) })
        var result: [UInt8] = []
        for part in parts { result += concealment.add(part) }
        result += concealment.finish()
        return String(decoding: result, as: UTF8.self)
    }

    // Origin: by hand; what overlaps or touches is one mark.
    static let rows: [(text: String, secrets: [String], masked: String)] = [
        ("", ["tiger"], ""), ("no cat", ["tiger"], "no cat"), ("tiger", ["tiger"], "<concealed>"),
        ("a tiger, a tiger.", ["tiger"], "a <concealed>, a <concealed>."),
        ("tigertiger", ["tiger"], "<concealed>"), ("tige", ["tiger"], "tige"),
        ("tigetiger", ["tiger"], "tige<concealed>"),
        // The longer of two that begin alike, and the shorter one where the longer breaks off.
        ("tigers", ["tiger", "tigers"], "<concealed>"),
        ("tigerx", ["tiger", "tigers"], "<concealed>x"),
        ("tigers eye", ["tiger", "tigers eyes"], "<concealed>s eye"),
        // No part of one is left because another was found first.
        ("abcdefgh.", ["abcde", "defgh"], "<concealed>."), ("ababababa", ["ababa"], "<concealed>"),
        ("xabcdefx", ["abcdef", "bcde"], "x<concealed>x"),
        ("aaaaaaab", ["aaaab"], "aaa<concealed>"), ("aaaaaaa", ["aaaa"], "<concealed>"),
        ("line one\nline two\n", ["one\nline"], "line <concealed> two\n"),
        ("plain", [], "plain"),
    ]

    @Test(arguments: rows.indices)
    func `a secret is found however the stream is cut`(_ row: Int) {
        let (text, secrets, expected) = Self.rows[row]
        let bytes = Array(text.utf8)
        #expect(masked([bytes], secrets) == expected)
        #expect(masked(bytes.map { [$0] }, secrets) == expected)
        for first in bytes.indices {
            for second in first..<bytes.count {
                let parts = [bytes[..<first], bytes[first..<second], bytes[second...]].map(
                    Array.init)
                #expect(masked(parts, secrets) == expected, "\(parts)")
            }
        }
    }

    @Test func `what can't be a secret is passed on at once`() {
        var concealment = Concealment([Array("tiger".utf8)])
        #expect(concealment.add(Array("prompt: ".utf8)) == Array("prompt: ".utf8))
        #expect(concealment.add(Array("a ti".utf8)) == Array("a ".utf8))
        #expect(concealment.add(Array("me".utf8)) == Array("time".utf8))
        #expect(concealment.finish().isEmpty)
    }
}
