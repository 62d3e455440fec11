// Snippet: the code of a README, which stands in a file that is compiled, too.

import Foundation
import Testing

/// Records an issue unless a Swift snippet of a system's README stands in a source file, line for
/// line.
///
/// - Parameters:
///   - heading: The heading below which the snippet is the first. nil: the last snippet of all.
///   - system: The name of the system's folder.
///   - sourceFile: The file, which has the snippet after any indentation.
/// - Throws: If a file can't be read or there is no snippet.
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
