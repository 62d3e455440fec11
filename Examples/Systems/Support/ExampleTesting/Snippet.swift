// Snippet: verifies that a code block of a README is also in a source file that is compiled.

import Foundation
import Testing

/// Records an issue unless a Swift code block of a system's README is also in a source file, line
/// for line, and has at least five lines that aren't empty.
///
/// - Parameters:
///   - heading: A level-2 heading, which selects the first Swift code block after it. `nil` selects
///     the last Swift code block of the document.
///   - system: The name of the system's folder.
///   - sourceFile: The source file.
/// - Throws: An error if a file can't be read, or if the heading or the code block is missing.
public func expectSnippet(
    under heading: String? = nil, inReadmeOf system: String, isPartOf sourceFile: String = #filePath
) throws {
    let readme = folder(ofSystem: system).appending(path: "README.md")
    let document = try String(contentsOf: readme, encoding: .utf8)
    var scope = document.startIndex..<document.endIndex
    if let heading {
        let line = try #require(document.range(of: "\n## \(heading)\n"))
        scope = line.upperBound..<document.endIndex
    }
    let start = try #require(
        document.range(
            of: "\n```swift\n", options: heading == nil ? .backwards : [], range: scope))
    let end = try #require(
        document.range(of: "\n```", range: start.upperBound..<document.endIndex))
    let snippet = document[start.upperBound..<end.lowerBound]
    let source = try String(contentsOf: URL(filePath: sourceFile), encoding: .utf8)
    #expect(snippet.split(separator: "\n").count >= 5)
    #expect(source.contains(snippet), "The snippet of \(system)/README.md is not in \(sourceFile)")
}
