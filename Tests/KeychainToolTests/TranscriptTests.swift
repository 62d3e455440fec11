import Foundation
import Testing

@Suite struct `Transcripts` {
    private static let folder = (#filePath as NSString).deletingLastPathComponent

    static let names: [String] = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder + "/Transcripts")
        return (names ?? []).filter { $0.hasSuffix(".txt") }.sorted()
    }()

    @Test func `transcripts are found`() {
        #expect(Self.names.count >= 18)
    }

    @Test(arguments: names)
    func `each transcript gives the recorded output`(_ name: String) throws {
        let transcript = try Transcript(path: Self.folder + "/Transcripts/" + name)
        #expect(!transcript.steps.isEmpty)
        try transcript.run()
    }

    @Test func `certificates, keys and items with access controls can be shown and read`() throws {
        let path = Self.folder + "/Transcripts/Prepared/certificates-and-keys.txt"
        let transcript = try Transcript(path: path)
        #expect(transcript.steps.count > 20)
        try transcript.run { try GuardedItems.add(to: $0) }
    }

    @Test func `the sessions in the manual give the output shown there`() throws {
        let manual = try Transcript(path: Self.folder + "/../../Documentation/keychainctl.md")
        #expect(manual.steps.count > 20)
        try manual.run()
    }

    @Test func `the notation of transcripts is parsed as documented`() throws {
        let home = try TestHome()
        let path = home.path + "/notation.txt"
        try """
        # A comment.
        $ printf 'a\\n\\nb'
        a

        b(no newline)

        $ echo c >&2
        > exit 3
        ! c
        [3]
        """.write(toFile: path, atomically: true, encoding: .utf8)
        let transcript = try Transcript(path: path)
        #expect(transcript.steps.map(\.expected) == [["a", "", "b(no newline)"], ["! c", "[3]"]])
        try transcript.run()
    }
}
