// SourceTests: verifies properties of the program's source code.

import ExampleTesting
import Foundation
import Testing

/// A source file of the program.
struct SourceFile {
    let name: String
    let text: String

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// The lines that are not comments.
    var code: [Substring] { lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") } }

    /// All source files of the program.
    static func all() throws -> [SourceFile] {
        let sources = folder(ofSystem: "Fundamentals").appending(path: "Sources")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        let urls = (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" }
        try #require(urls.count >= 10)
        return try urls.map {
            SourceFile(
                name: $0.lastPathComponent, text: try String(contentsOf: $0, encoding: .utf8))
        }
    }

    static func hasLiteralKey(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        guard !code.hasPrefix("//"), !code.hasPrefix("case ") else { return false }
        return code.contains(#/\w\["[^"]*"\]|"[^"\\]*":|"[^"]*" as/#)
    }
}

@Suite struct SourceTests {
    @Test func `the four SecItem functions are called in one file, each after checking the actor`()
        throws
    {
        for file in try SourceFile.all() {
            let calls = file.code.filter {
                $0.contains(/\bSecItem(Add|CopyMatching|Update|Delete)\(/)
            }
            guard file.name == "SecItem.swift" else {
                #expect(calls.isEmpty, "\(file.name)")
                continue
            }
            #expect(calls.count == 6)
            for body in file.text.components(separatedBy: "    public static func ").dropFirst()
            where body.contains(/\bSecItem(Add|CopyMatching|Update|Delete)\(/) {
                let checked = try #require(body.range(of: "checkActor()"))
                let called = try #require(body.firstRange(of: /= SecItem\w+\(/))
                #expect(checked.lowerBound < called.lowerBound)
            }
        }
    }

    @Test func `only the examples of wrong code ignore a status`() throws {
        var droppedCount = 0
        for file in try SourceFile.all() {
            let count = file.code.filter { $0.contains(/_ = (SecItem\.|find\()/) }.count
            if file.name == "Patterns.swift" { droppedCount += count } else { #expect(count == 0) }
        }
        #expect(droppedCount == 3)
    }

    @Test func `only KeychainQueryBuilder.swift sets the class in a dictionary with String keys`()
        throws
    {
        let files = try SourceFile.all().filter { $0.text.contains("kSecClass as String:") }
        #expect(files.map(\.name) == ["KeychainQueryBuilder.swift"])
    }

    @Test func `no dictionary is kept between calls`() throws {
        for file in try SourceFile.all() {
            let kept = file.code.filter {
                $0.contains(
                    /^(    )?(public |private |fileprivate )?(static )?(let|var) \w+: \[(String|CFString): Any\]( =|$)/
                )
            }
            #expect(kept.isEmpty, "\(file.name)")
        }
    }

    @Test func `no source file mentions Keychain's modules, CoreFoundation or a platform`() throws {
        for file in try SourceFile.all() {
            #expect(!file.text.contains("import Keychain"), "\(file.name)")
            #expect(!file.text.contains("KeychainServices"), "\(file.name)")
            #expect(!file.text.contains("import CoreFoundation"), "\(file.name)")
            #expect(!file.text.contains("#if os("), "\(file.name)")
        }
    }

    @Test func `kSecAttrAccessibleAlways is not used`() throws {
        for file in try SourceFile.all() {
            #expect(!file.code.contains { $0.contains("kSecAttrAccessibleAlways") })
        }
    }
}
