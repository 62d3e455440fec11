// SymbolListTests: the compiled files contain every available name in Symbols.txt.

import Foundation
import Testing

@Suite struct `Symbol list` {
    /// The package, three levels above this file.
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The number of names in each section, counted in the libraries from which the list was made.
    private static let counts = [
        "constants": 166, "functions and types": 78, "current": 18, "Core Foundation": 38,
        "LocalAuthentication": 18, "SecAccessControlCreateFlags": 12, "C library": 3,
    ]

    /// Names that are unavailable on Apple's platforms and in this package. No compiled file can
    /// contain these names.
    private static let unavailable: Set<String> = ["CFRetain", "CFRelease"]

    @Test func `Symbols.txt has every section with all of its names, each once`() throws {
        let sections = try Self.sections()
        #expect(sections.mapValues(\.count) == Self.counts)
        let names = sections.values.flatMap { $0 }
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: ["Symbols", "SymbolsInSwift5"])
    func `every available name in Symbols.txt occurs in Symbols and in SymbolsInSwift5`(
        target: String
    ) throws {
        let words = try Self.words(of: target)
        for (section, names) in try Self.sections() {
            let missing = names.filter { !words.contains($0) && !Self.unavailable.contains($0) }
            #expect(missing.isEmpty, "\(section)")
        }
    }

    @Test func `unavailable names don't occur in code`() throws {
        #expect(try Self.words(of: "Symbols").isDisjoint(with: Self.unavailable))
    }

    @Test func `comments and string literals don't count as code`() {
        let code =
            "let a = kSecClass // kSecAttrAccount\n/// kSecAttrService\n_ = \"kSecAttrLabel\""
        #expect(Self.words(ofCode: code) == ["let", "a", "kSecClass", "_"])
    }

    // MARK: Parsing

    private static func sections() throws -> [String: [String]] {
        let text = try String(contentsOf: root.appending(path: "Symbols.txt"), encoding: .utf8)
        var sections: [String: [String]] = [:]
        var section = ""
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("[") {
                section = String(line.dropFirst().dropLast())
            } else {
                sections[section, default: []].append(String(line))
            }
        }
        return sections
    }

    private static func words(of target: String) throws -> Set<String> {
        let folder = root.appending(path: "Sources/\(target)").resolvingSymlinksInPath()
        let files = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "swift" }.reduce(into: []) { words, file in
            words.formUnion(Self.words(ofCode: try String(contentsOf: file, encoding: .utf8)))
        }
    }

    /// The words of a text without comments and without the content of string literals.
    private static func words(ofCode text: String) -> Set<String> {
        text.split(separator: "\n").reduce(into: []) { words, line in
            let code = String(line).replacing(/"[^"]*"/, with: "").prefix(upTo: "//")
            words.formUnion(
                code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
        }
    }
}

extension String {
    /// The text before the first occurrence of `end`, or the whole text if `end` doesn't occur.
    fileprivate func prefix(upTo end: String) -> Substring {
        firstRange(of: end).map { self[..<$0.lowerBound] } ?? self[...]
    }
}
