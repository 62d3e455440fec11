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

    // The expected texts are written by hand. One mark replaces overlapping or adjacent secrets.
    static let rows: [(text: String, secrets: [String], masked: String)] = [
        ("", ["tiger"], ""), ("no cat", ["tiger"], "no cat"), ("tiger", ["tiger"], "<concealed>"),
        ("a tiger, a tiger.", ["tiger"], "a <concealed>, a <concealed>."),
        ("tigertiger", ["tiger"], "<concealed>"), ("tige", ["tiger"], "tige"),
        ("tigetiger", ["tiger"], "tige<concealed>"),
        // If two secrets begin alike, the longer secret is concealed where it occurs in full. The
        // shorter secret is concealed elsewhere.
        ("tigers", ["tiger", "tigers"], "<concealed>"),
        ("tigerx", ["tiger", "tigers"], "<concealed>x"),
        ("tigers eye", ["tiger", "tigers eyes"], "<concealed>s eye"),
        // If secrets overlap, no part of any of them stays visible.
        ("abcdefgh.", ["abcde", "defgh"], "<concealed>."), ("ababababa", ["ababa"], "<concealed>"),
        ("xabcdefx", ["abcdef", "bcde"], "x<concealed>x"),
        ("aaaaaaab", ["aaaab"], "aaa<concealed>"), ("aaaaaaa", ["aaaa"], "<concealed>"),
        ("line one\nline two\n", ["one\nline"], "line <concealed> two\n"),
        ("plain", [], "plain"),
    ]

    @Test(arguments: rows.indices)
    func `a secret is concealed no matter where the stream is split`(_ row: Int) {
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

    @Test func `text that can't be part of a secret is passed on at once`() {
        var concealment = Concealment([Array("tiger".utf8)])
        #expect(concealment.add(Array("prompt: ".utf8)) == Array("prompt: ".utf8))
        #expect(concealment.add(Array("a ti".utf8)) == Array("a ".utf8))
        #expect(concealment.add(Array("me".utf8)) == Array("time".utf8))
        #expect(concealment.finish().isEmpty)
    }
}
