// Repository: the files of this repository, as the tests read them.

import Foundation

/// A text file of the repository.
struct RepositoryFile: CustomStringConvertible {
    /// The path relative to the root, with slashes.
    let path: String
    let lines: [Substring]

    var description: String { path }
    var name: Substring { path.split(separator: "/").last ?? "" }

    /// The folder below `Sources`, which is the module. `nil` outside `Sources`.
    var module: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }

    /// Each line with its number, from 1, without comments and without the content of single-line
    /// string literals.
    var codeLines: [(number: Int, text: String)] { readCode ?? Self.code(of: lines) }

    /// The value of ``codeLines``, if it was computed in advance.
    private let readCode: [(number: Int, text: String)]?

    init(path: String, lines: [Substring]) {
        self.init(path: path, lines: lines, code: nil)
    }

    private init(path: String, lines: [Substring], code: [(number: Int, text: String)]?) {
        (self.path, self.lines, readCode) = (path, lines, code)
    }

    /// The same file, for tests that read its code several times.
    func withCode() -> RepositoryFile {
        RepositoryFile(path: path, lines: lines, code: Self.code(of: lines))
    }

    private static func code(of lines: [Substring]) -> [(number: Int, text: String)] {
        var depth = 0
        return lines.enumerated().map { index, line in
            let isPlain = depth == 0 && !line.utf8.contains { $0 == 0x22 || $0 == 0x2F }
            return (index + 1, isPlain ? String(line) : code(in: line, blockCommentDepth: &depth))
        }
    }

    private static func code(in line: Substring, blockCommentDepth depth: inout Int) -> String {
        var code = ""
        var rest = line[...]
        var isInString = false
        while let character = rest.first {
            if depth > 0 {
                if rest.hasPrefix("*/") { depth -= 1 }
                if rest.hasPrefix("/*") { depth += 1 }
                rest = rest.dropFirst(rest.hasPrefix("*/") || rest.hasPrefix("/*") ? 2 : 1)
            } else if isInString {
                if character == "\"" { isInString = false }
                rest = rest.dropFirst(character == "\\" ? 2 : 1)
            } else if rest.hasPrefix("//") {
                break
            } else if rest.hasPrefix("/*") {
                depth += 1
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("\"\"\"") {
                // A multi-line literal begins or ends. The lines in it are treated as code.
                rest = rest.dropFirst(3)
            } else {
                if character == "\"" { isInString = true }
                code.append(character)
                rest = rest.dropFirst()
            }
        }
        return code
    }
}

enum Repository {
    /// The folder that contains `Package.swift`, three levels above this file.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// All files below a folder whose names end with `suffix`, sorted by path. Hidden files and
    /// folders, such as build folders, are left out.
    static func files(in folder: String = "", suffix: String) throws -> [RepositoryFile] {
        let start = folder.isEmpty ? root : root.appending(path: folder)
        guard
            let paths = FileManager.default.enumerator(
                at: start, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        else { throw CocoaError(.fileReadNoSuchFile) }
        let prefix = root.path(percentEncoded: false)
        return try paths.compactMap { $0 as? URL }
            .map { $0.path(percentEncoded: false) }
            .filter { $0.hasSuffix(suffix) && $0.hasPrefix(prefix) }
            .sorted()
            .map { path in
                let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
                return RepositoryFile(
                    path: String(path.dropFirst(prefix.count).drop(while: { $0 == "/" })),
                    lines: text.split(separator: "\n", omittingEmptySubsequences: false))
            }
    }

    /// The Swift files of all modules.
    static func sources() throws -> [RepositoryFile] { try readSources.get() }

    /// Read once for all tests.
    private static let readSources = Result {
        try files(in: "Sources", suffix: ".swift").map { $0.withCode() }
    }

    static func file(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(
            atPath: root.appending(path: path).path(percentEncoded: false))
    }
}
